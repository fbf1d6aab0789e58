package gc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Collector removes what nobody uses. It may be used from many goroutines; one
// removal goes on at a time.
type Collector struct {
	opts    Options
	ballast ballast

	imagePulled chan struct{} // an image has come

	mu      sync.Mutex
	images  map[string]*imageRecord // by id
	started time.Time
}

// New makes a Collector.
func New(o Options) (*Collector, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Collector{opts: o, ballast: ballast{path: o.BallastFile, bytes: ballastBytes}, images: map[string]*imageRecord{}, imagePulled: make(chan struct{}, 1), started: o.Now()}
	return c, nil
}

// ImagePulled tells that an image has come: it is looked at soon, since its age counts from when it was seen
// first. It returns at once.
func (c *Collector) ImagePulled() {
	select {
	case c.imagePulled <- struct{}{}:
	default: // it will be seen together with the one before
	}
}

// Run collects until ctx ends.
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
			c.opts.Log.Error(err, "Collecting what is not used failed; it is tried again")
		}
	}
}

func (c *Collector) createBallast() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.ballast.create(); err != nil {
		c.opts.Log.Error(err, "There will be no ballast to give up when the disk of the images is full")
	}
}

// refreshImages notes which images are there.
func (c *Collector) refreshImages(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.detectImages(ctx, c.opts.Now()); err != nil && ctx.Err() == nil {
		c.opts.Log.Error(err, "Images were not listed; they will be when they are collected")
	}
}

// CollectImages collects images as the policy says.
func (c *Collector) CollectImages(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.collectImages(ctx)
	if err != nil && ctx.Err() == nil {
		c.opts.RecordEvent(warning, "ImageGCFailed", err.Error())
	}
	return err
}

// CollectContainers collects dead containers, sandboxes and logs as the policy says.
func (c *Collector) CollectContainers(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.collectContainers(ctx, false)
}

// Reclaim makes room under pressure: it removes the dead containers of finished pods besides
// those that the policy removes, and then all unused images.
func (c *Collector) Reclaim(ctx context.Context, containers, images bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	if containers {
		if err := c.collectContainers(ctx, true); err != nil {
			errs = append(errs, fmt.Errorf("dead containers: %w", err))
		}
	}
	if images {
		if err := c.deleteUnusedImages(ctx); err != nil {
			errs = append(errs, fmt.Errorf("unused images: %w", err))
		}
	}
	return errors.Join(errs...)
}
