package workqueue

import (
	"time"

	"golang.org/x/time/rate"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
)

// Limits of retries, as in upstream's controllers.
const (
	firstRetry       = 5 * time.Millisecond
	lastRetry        = 1000 * time.Second
	retriesPerSecond = 10 // of all keys of a queue
	retryBurst       = 100
)

// newRateLimiter returns client-go's default rate limiter of controllers with a given clock.
func newRateLimiter[K comparable](c clock.PassiveClock) workqueue.TypedRateLimiter[K] {
	return workqueue.NewTypedMaxOfRateLimiter(
		workqueue.NewTypedItemExponentialFailureRateLimiter[K](firstRetry, lastRetry),
		&bucketLimiter[K]{limiter: rate.NewLimiter(retriesPerSecond, retryBurst), clock: c})
}

// bucketLimiter limits the retries of all keys together.
type bucketLimiter[K comparable] struct {
	limiter *rate.Limiter
	clock   clock.PassiveClock
}

// When implements workqueue.TypedRateLimiter.
func (b *bucketLimiter[K]) When(K) time.Duration {
	now := b.clock.Now()
	return b.limiter.ReserveN(now, 1).DelayFrom(now)
}

// NumRequeues implements workqueue.TypedRateLimiter.
func (b *bucketLimiter[K]) NumRequeues(K) int { return 0 }

// Forget implements workqueue.TypedRateLimiter.
func (b *bucketLimiter[K]) Forget(K) {}
