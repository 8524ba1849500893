// Package realtimeflags has the flags of v1/realtime, the endpoint for speech over WebSocket, and chooses the backend of an
// OpenAI-compatible server by its endpoint.
package realtimeflags
