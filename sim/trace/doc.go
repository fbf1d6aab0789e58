// Package trace simulates a given cluster and summarizes the result: objects of a dump, pods that
// arrive and depart at given times, and a scenario on top.
//
// berth simulate uses it. The package reads neither files nor the wall clock.
package trace
