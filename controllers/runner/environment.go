package runner

import (
	"context"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/clock"

	"github.com/berthproject/berth/internal/contextlock"
)

// Environment is the source of time, randomness and concurrency of a controller.
type Environment struct {
	clock.WithTicker
	// Host is the name of the machine.
	Host string
	// NameSuffix returns a random suffix for the name of an object.
	NameSuffix func() string
	// ForEach calls f with the numbers from 0 to n-1, at most limit at the same time, and waits until all calls have
	// returned.
	ForEach func(n, limit int, f func(i int))
	// Pause waits for a duration, or until ctx is done.
	Pause func(ctx context.Context, d time.Duration)
	// NewLock returns an unlocked lock that may be held during requests.
	NewLock func() contextlock.Lock
	// WithTimeout is context.WithTimeout by the clock.
	WithTimeout func(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
}

// suffixLength is the length of a generated name's suffix in characters, as in the API server.
const suffixLength = 5

// Production returns the environment of a running process: the wall clock, unpredictable names and goroutines.
func Production() Environment {
	host, _ := os.Hostname()
	return Environment{WithTicker: clock.RealClock{}, Host: host, NameSuffix: func() string { return rand.String(suffixLength) }, ForEach: ForEach,
		Pause:   func(ctx context.Context, d time.Duration) { Sleep(ctx, clock.RealClock{}, d) },
		NewLock: contextlock.New, WithTimeout: context.WithTimeout}
}
