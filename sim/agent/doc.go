// Package agent simulates the node agents: pod lifecycles, containers scripted by annotations, Leases
// and node conditions, node pressure, admission, and agents that stop or lose their network.
package agent
