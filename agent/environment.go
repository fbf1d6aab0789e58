package agent

import (
	"context"
	"math/rand"
	"time"

	"k8s.io/utils/clock"
)

// Environment is what an agent takes from its process: time, concurrency and randomness. The agent itself is
// synchronous code. In production it runs in goroutines. The simulator runs it in coroutines under virtual time.
type Environment struct {
	// Clock is the clock of the agent and of the functions that Go runs.
	Clock clock.WithDelayedExecution
	// Go runs f concurrently with the caller, after the caller returns or at once.
	Go func(f func())
	// Sleep blocks a function that Go runs. It returns false if ctx is done before d has passed.
	Sleep func(ctx context.Context, d time.Duration) bool
	// Wake requests a call of Turn. It must not block. If it is nil, Run calls Turn.
	Wake func()
	// Random returns a random number from 0 to n-1.
	Random func(n int64) int64
	// Heartbeat calls f when a heartbeat of the node is due: after d, as Clock.AfterFunc does. The simulator omits the calls
	// that would only renew times.
	Heartbeat func(node string, kind HeartbeatKind, d time.Duration, f func()) clock.Timer
}

// HeartbeatKind is a kind of heartbeat.
type HeartbeatKind int

// The heartbeats renew the node's Lease, and write the node's status although it has not changed.
const (
	LeaseHeartbeat HeartbeatKind = iota
	StatusHeartbeat
)

// ProductionEnvironment returns the environment of a running process: the wall clock and goroutines.
func ProductionEnvironment() *Environment {
	c := clock.RealClock{}
	return &Environment{
		Clock:     c,
		Go:        func(f func()) { go f() },
		Sleep:     sleep,
		Random:    rand.Int63n,
		Heartbeat: func(_ string, _ HeartbeatKind, d time.Duration, f func()) clock.Timer { return c.AfterFunc(d, f) },
	}
}

// sleep implements Environment.Sleep with the wall clock.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// now returns the current time.
func (e *Environment) now() time.Time { return e.Clock.Now() }

// jitter returns d plus a random part of up to d*factor.
func (e *Environment) jitter(d time.Duration, factor float64) time.Duration {
	return d + time.Duration(e.Random(int64(float64(d)*factor)+1))
}
