package sim

import "time"

// KillPoint kills an actor at one of its requests, so that a test can enumerate the requests of a run.
type KillPoint struct {
	Actor   string
	Request int // number of the request, from 1; restarts do not reset it
	// Executed kills the actor after the API server has executed the request and before the response, instead of before
	// the execution.
	Executed bool
	// Restart is the time until the actor restarts.
	Restart time.Duration
}

// SetKillPoint sets the kill point.
func (w *World) SetKillPoint(k KillPoint) { w.killPoint = &k }

// killAtRequest reports whether the request that is being sent is the kill point, and kills the actor when the request
// arrives at the API server.
func (c *Client) killAtRequest(r *Request) bool {
	k := c.w.killPoint
	if k == nil || k.Actor != c.name || k.Request != c.requests {
		return false
	}
	c.After(c.w.o.Latency, func() {
		if r.settled = true; k.Executed {
			_ = c.execute(r)
		}
		c.Kill(k.Restart)
	})
	return true
}
