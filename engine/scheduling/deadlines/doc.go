// Package deadlines is a heap of the instants at which pending work times out.
package deadlines
