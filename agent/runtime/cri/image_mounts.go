package cri

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/containerd/containerd/api/services/snapshots/v1"
	"github.com/containerd/containerd/api/types"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/berthproject/berth/agent/runtime"
)

var _ runtime.ImageMounts = (*Client)(nil)

// ownerLabel is the label of snapshots with the owner of MountsOfImage.
const ownerLabel = "berth.dev/owner"

// MountsOfImage returns the mounts of a read-only snapshot of an image in containerd. containerd 2.1 and newer
// can mount images, but a container with SYS_ADMIN can make those mounts writable. Other runtimes mount images
// themselves.
func (c *Client) MountsOfImage(ctx context.Context, owner, name, image string) ([]runtime.ImageMount, error) {
	version, err := c.Version(ctx)
	if err != nil || version.RuntimeName != "containerd" {
		return nil, err
	}
	snapshotter, err := c.snapshotter(ctx)
	if err != nil {
		return nil, err
	}
	diffs, err := c.diffIDs(ctx, image)
	if err != nil {
		return nil, err
	}
	if len(diffs) == 0 {
		return nil, status.Errorf(codes.InvalidArgument, "image %s has no layers, must have at least one", image)
	}
	key := "berth-" + owner + "-" + name
	ctx = metadata.AppendToOutgoingContext(ctx, "containerd-namespace", containerdNamespace)
	// The label keeps the snapshot from containerd's garbage collector.
	labels := map[string]string{"containerd.io/gc.root": time.Now().UTC().Format(time.RFC3339), ownerLabel: owner}
	mounts, err := callWithRetry(ctx, c, func(ctx context.Context) ([]*types.Mount, error) {
		r, err := snapshots.NewSnapshotsClient(c.conn).View(ctx, &snapshots.ViewSnapshotRequest{Snapshotter: snapshotter, Key: key, Parent: chainID(diffs), Labels: labels})
		if status.Code(err) != codes.AlreadyExists {
			return r.GetMounts(), err
		}
		existing, err := snapshots.NewSnapshotsClient(c.conn).Mounts(ctx, &snapshots.MountsRequest{Snapshotter: snapshotter, Key: key})
		return existing.GetMounts(), err
	})
	if err != nil {
		return nil, fmt.Errorf("creating a read-only snapshot of image %s: %w", image, err)
	}
	var out []runtime.ImageMount
	for _, m := range mounts {
		out = append(out, runtime.ImageMount{Type: m.GetType(), Source: m.GetSource(), Options: m.GetOptions()})
	}
	return out, nil
}

// ReleaseImageMounts removes the snapshots of MountsOfImage.
func (c *Client) ReleaseImageMounts(ctx context.Context, owner string) error {
	snapshotter, err := c.snapshotter(ctx)
	if status.Code(err) == codes.Unimplemented || err == nil && snapshotter == "" {
		return nil // no snapshots: the snapshotter is unknown, or the runtime is not containerd
	}
	if err != nil {
		return err
	}
	ctx = metadata.AppendToOutgoingContext(ctx, "containerd-namespace", containerdNamespace)
	_, err = callWithRetry(ctx, c, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, c.removeSnapshots(ctx, snapshotter, owner)
	})
	if err != nil {
		return fmt.Errorf("removing the snapshots of image volumes: %w", err)
	}
	return nil
}

func (c *Client) removeSnapshots(ctx context.Context, snapshotter, owner string) error {
	client := snapshots.NewSnapshotsClient(c.conn)
	list, err := client.List(ctx, &snapshots.ListSnapshotsRequest{Snapshotter: snapshotter, Filters: []string{fmt.Sprintf("labels.%q==%q", ownerLabel, owner)}})
	if err != nil {
		return err
	}
	for {
		page, err := list.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, s := range page.GetInfo() {
			if _, err := client.Remove(ctx, &snapshots.RemoveSnapshotRequest{Snapshotter: snapshotter, Key: s.GetName()}); err != nil && status.Code(err) != codes.NotFound {
				return err
			}
		}
	}
}
