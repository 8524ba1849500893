// Package inferencex reads the results of InferenceX (formerly InferenceMAX): an object, or an array of objects, each with the figures that it
// makes from a result of a serving benchmark. They hold no requests.
package inferencex
