package gc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/image"
	"github.com/berthproject/berth/agent/stats"
)

// imageRecord holds the collector's data about an image.
type imageRecord struct {
	id            string
	size          int64 // as the runtime reports it; containerd reports the compressed size
	firstDetected time.Time
	lastUsed      time.Time // zero: not in use at any detection
	inUse         bool      // at the last detection
	pinned        bool
}

// detectImages updates the image records and returns the images that may be removed, least
// recently used first.
func (c *Collector) detectImages(ctx context.Context, now time.Time) ([]*imageRecord, error) {
	// List images before containers: an image whose container is created in between then counts as
	// used.
	images, err := c.opts.Service.ListImages(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing images: %w", err)
	}
	used, err := c.inUse(ctx, images)
	if err != nil {
		return nil, err
	}
	existing := map[string]bool{}
	for _, i := range images {
		existing[i.Id] = true
		r := c.images[i.Id]
		if r == nil {
			r = &imageRecord{id: i.Id, firstDetected: now}
			c.images[i.Id] = r
		}
		r.size, r.inUse, r.pinned = int64(i.Size), used[i.Id], image.IsPinned(i, c.opts.PinnedImages)
		if r.inUse {
			r.lastUsed = now
		}
	}
	var unused []*imageRecord
	for id, r := range c.images {
		switch {
		case !existing[id]:
			delete(c.images, id)
		case !r.inUse && !r.pinned:
			unused = append(unused, r)
		}
	}
	slices.SortFunc(unused, func(a, b *imageRecord) int {
		return cmp.Or(a.lastUsed.Compare(b.lastUsed), a.firstDetected.Compare(b.firstDetected), cmp.Compare(a.id, b.id))
	})
	return unused, nil
}

// inUse returns the IDs of images used by containers and volumes.
func (c *Collector) inUse(ctx context.Context, images []*criapi.Image) (map[string]bool, error) {
	containers, err := c.opts.Service.ListContainers(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("listing containers: %w", err)
	}
	ids := map[string]string{} // image ID by ID, tag and digest
	for _, i := range images {
		ids[i.Id] = i.Id
		for _, name := range slices.Concat(i.RepoTags, i.RepoDigests) {
			ids[name] = i.Id
		}
	}
	used := map[string]bool{}
	for _, container := range containers {
		for _, name := range []string{container.ImageId, container.ImageRef, container.GetImage().GetImage()} {
			if id, ok := ids[name]; ok {
				used[id] = true
			}
		}
	}
	for _, name := range c.opts.VolumeImages() {
		if id, ok := ids[name]; ok {
			used[id] = true
		} else if i, err := c.opts.Service.ImageStatus(ctx, &criapi.ImageSpec{Image: name}); err == nil && i != nil {
			used[i.Id] = true // the name is not canonical, for example without a registry
		}
	}
	return used, nil
}

// collectImages removes images that exceed the maximum age, then unused ones if file system usage
// is at or above the high threshold. Below it, collectImages creates the ballast file if it is missing.
func (c *Collector) collectImages(ctx context.Context) error {
	now := c.opts.Now()
	unused, err := c.detectImages(ctx, now)
	if err != nil {
		return err
	}
	if unused, err = c.freeOldImages(ctx, unused, now); err != nil {
		return err
	}
	disk, err := c.opts.ImageFs.Refresh(now)
	if err != nil {
		return err
	}
	if disk.Capacity <= 0 {
		// The kubelet's message.
		c.opts.RecordEvent(warning, "InvalidDiskCapacity", "invalid capacity 0 on image filesystem")
		return errors.New("invalid capacity 0 on image filesystem")
	}
	usedPercent := 100 - int(min(disk.Available, disk.Capacity)*100/disk.Capacity)
	if usedPercent < c.opts.Policy.HighThresholdPercent {
		return c.ballast.create()
	}
	bytesToFree := disk.Capacity*int64(100-c.opts.Policy.LowThresholdPercent)/100 - disk.Available
	c.opts.Log.Info("Image file system usage is over the high threshold, removing unused images", "usedPercent", usedPercent, "highThresholdPercent", c.opts.Policy.HighThresholdPercent, "bytes", bytesToFree)
	freed, err := c.freeSpace(ctx, unused, bytesToFree, now)
	if err != nil || freed >= bytesToFree {
		return err
	}
	message := fmt.Sprintf("Insufficient free disk space on the node's image filesystem (%.1f%% of %s used). Failed to free sufficient space by deleting unused images (freed %d bytes). Consider resizing the disk or deleting unused files.",
		float64(disk.Capacity-disk.Available)*100/float64(disk.Capacity), resource.NewQuantity(disk.Capacity, resource.BinarySI), freed)
	c.opts.RecordEvent(warning, "FreeDiskSpaceFailed", message)
	return errors.New(message)
}

// deleteUnusedImages removes all unused images older than the minimum age.
func (c *Collector) deleteUnusedImages(ctx context.Context) error {
	now := c.opts.Now()
	unused, err := c.detectImages(ctx, now)
	if err != nil {
		return err
	}
	_, err = c.freeSpace(ctx, unused, math.MaxInt64, now)
	return err
}

// freeOldImages removes images unused for longer than the maximum age and returns the others. It
// does nothing until the collector has existed for that long: until then, the last use is unknown.
func (c *Collector) freeOldImages(ctx context.Context, unused []*imageRecord, now time.Time) (remaining []*imageRecord, err error) {
	limit := c.opts.Policy.MaxAge
	if limit == 0 || now.Sub(c.started) <= limit {
		return unused, nil
	}
	var errs []error
	for _, r := range unused {
		since := r.lastUsed
		if since.IsZero() {
			since = r.firstDetected
		}
		if now.Sub(since) <= limit || now.Sub(r.firstDetected) < c.opts.Policy.MinAge {
			remaining = append(remaining, r)
			continue
		}
		if err := c.freeImage(ctx, r, "age"); err != nil {
			errs = append(errs, err)
		}
	}
	return remaining, errors.Join(errs...)
}

// freeSpace removes images until bytesToFree bytes are freed, and returns the number of freed bytes.
// If a removal fails, it continues with the next image. At the end it recreates a removed ballast
// file.
func (c *Collector) freeSpace(ctx context.Context, list []*imageRecord, bytesToFree int64, now time.Time) (freed int64, err error) {
	before, err := c.opts.ImageFs.Refresh(now)
	if err != nil {
		return 0, err
	}
	var errs []error
	for _, r := range list {
		if now.Sub(r.firstDetected) < c.opts.Policy.MinAge {
			continue
		}
		if freed >= bytesToFree || ctx.Err() != nil {
			break
		}
		if err := c.freeImage(ctx, r, "space"); err != nil {
			errs = append(errs, err)
			continue
		}
		after, err := c.opts.ImageFs.Refresh(c.opts.Now())
		if err != nil {
			return freed, err
		}
		freed = freedBytes(before, after)
	}
	if err := c.ballast.create(); err != nil {
		errs = append(errs, err)
	}
	if len(errs) > 0 {
		return freed, fmt.Errorf("wanted to free %d bytes, but freed %d bytes space with errors in image deletion: %w", bytesToFree, freed, errors.Join(errs...))
	}
	return freed, ctx.Err()
}

// freedBytes returns the increase in available space.
func freedBytes(before, after stats.DiskUsage) int64 {
	return max(0, after.Available-before.Available)
}

// freeImage removes one image. If that fails it removes the ballast file and retries.
func (c *Collector) freeImage(ctx context.Context, r *imageRecord, reason string) error {
	spec := &criapi.ImageSpec{Image: r.id}
	err := c.opts.Service.RemoveImage(ctx, spec)
	if err != nil && ctx.Err() == nil && c.ballast.remove() {
		c.opts.Log.Info("Removed the ballast file because the runtime could not remove an image", "image", r.id, "err", err)
		err = c.opts.Service.RemoveImage(ctx, spec)
	}
	if err != nil {
		return fmt.Errorf("image %s: %w", r.id, err)
	}
	c.opts.Log.Info("Removed an unused image", "image", r.id, "reason", reason, "size", r.size)
	delete(c.images, r.id)
	c.opts.OnChange()
	c.opts.Metrics.images.WithLabelValues(reason).Inc()
	return nil
}
