// Package drainactor drains nodes of a simulated cluster: Start runs berth drain, the code of package drain, as an actor.
// Kubectl simulates kubectl drain.
package drainactor
