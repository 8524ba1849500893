package calibrate

// Limits returns the limits of a calibration against a server on the same machine, each a
// sentence or more.
func Limits() []string {
	return []string{
		"Loopback has no network card: what a card, its interrupt moderation and its driver add is not in these figures. Moderation alone can hold a packet back for tens of microseconds before the kernel sees it.",
		"Loopback has no wire: nothing is lost, sent again or delayed on the way, and segments are rarely joined. A real network can only join more tokens in one read.",
		"Client and server read the same clock. How far it is from other clocks, and how steady, does not show.",
		"Client and server share this machine's cores. With the server elsewhere the client has more of them, and user-space times are better than these.",
		"The truth is when the server's kernel let a write go. What a server does before that is not judged.",
		"A pair of virtual devices (veth) between network namespaces, with netem for delay, loss and rate, would add a device and a queue; it needs root, and is not set up here.",
	}
}
