package gc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Collector garbage-collects images and terminated containers. It is safe for concurrent use;
// collections run one at a time.
type Collector struct {
	opts    Options
	ballast ballast

	imagePulled chan struct{} // capacity 1: signals a new image

	mu      sync.Mutex
	images  map[string]*imageRecord // by ID
	started time.Time
}

// New validates the options and returns a Collector.
func New(o Options) (*Collector, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Collector{opts: o, ballast: ballast{path: o.BallastFile, bytes: ballastBytes}, images: map[string]*imageRecord{}, imagePulled: make(chan struct{}, 1), started: o.Now()}
	return c, nil
}

// ImagePulled reports that an image was pulled. Run then records it immediately, so that its age counts
// from the pull. It does not block.
func (c *Collector) ImagePulled() {
	select {
	case c.imagePulled <- struct{}{}:
	default: // a refresh is pending already
	}
}

// Run collects garbage periodically until ctx is done.
func (c *Collector) Run(ctx context.Context) {
	images, containers := time.NewTicker(c.opts.ImageInterval), time.NewTicker(c.opts.ContainerInterval)
	defer images.Stop()
	defer containers.Stop()
	c.createBallast()
	c.refreshImages(ctx)
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-c.imagePulled:
			c.refreshImages(ctx)
		case <-containers.C:
			err = c.CollectContainers(ctx)
		case <-images.C:
			err = c.CollectImages(ctx)
		}
		if err != nil && ctx.Err() == nil {
			c.opts.Log.Error(err, "Failed to collect garbage; retrying at the next interval")
		}
	}
}

func (c *Collector) createBallast() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.ballast.create(); err != nil {
		c.opts.Log.Error(err, "Failed to create the ballast file of the image file system")
	}
}

func (c *Collector) refreshImages(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.detectImages(ctx, c.opts.Now()); err != nil && ctx.Err() == nil {
		c.opts.Log.Error(err, "Failed to list images; retrying at the next collection")
	}
}

// CollectImages collects images according to the policy.
func (c *Collector) CollectImages(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.collectImages(ctx)
	if err != nil && ctx.Err() == nil {
		c.opts.RecordEvent(warning, "ImageGCFailed", err.Error())
	}
	return err
}

// CollectContainers collects terminated containers and their logs according to the policy.
func (c *Collector) CollectContainers(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.collectContainers(ctx, false)
}

// Reclaim frees space under disk pressure. With containers it removes the terminated containers of
// finished pods, in addition to those that the policy selects. With images it removes all unused
// images that are older than the minimum age.
func (c *Collector) Reclaim(ctx context.Context, containers, images bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	if containers {
		if err := c.collectContainers(ctx, true); err != nil {
			errs = append(errs, fmt.Errorf("deleting terminated containers: %w", err))
		}
	}
	if images {
		if err := c.deleteUnusedImages(ctx); err != nil {
			errs = append(errs, fmt.Errorf("deleting unused images: %w", err))
		}
	}
	return errors.Join(errs...)
}
