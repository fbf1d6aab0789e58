package cri

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/containerd/containerd/api/services/snapshots/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime"
)

// Layer is an unpacked layer in containerd.
type Layer = runtime.Layer

// ImageLayers returns the unpacked layers of an image, lowest first, that the size of the image does
// not include. CRI has one size for an image. In containerd it is that of the compressed layers. Other
// runtimes report the disk usage, so ImageLayers returns no layers for them.
func (c *Client) ImageLayers(ctx context.Context, id string) ([]Layer, error) {
	snapshotter, err := c.snapshotter(ctx)
	if err != nil || snapshotter == "" {
		return nil, err
	}
	diffs, err := c.diffIDs(ctx, id)
	if err != nil {
		return nil, err
	}
	var out []Layer
	for i := range diffs {
		layer, err := c.layerUsage(ctx, snapshotter, chainID(diffs[:i+1]))
		if status.Code(err) == codes.NotFound {
			break
		}
		if err != nil {
			return nil, err
		}
		out = append(out, layer)
	}
	return out, nil
}

// chainID returns the chain ID of layers as the OCI image specification defines it.
func chainID(diffs []string) string {
	chain := diffs[0]
	for _, diff := range diffs[1:] {
		chain = fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(chain+" "+diff)))
	}
	return chain
}

// WritableLayer measures the writable layer of a container. It reads containerd's snapshots, because
// containerd's statistics have only earlier measurements of running containers. The error is
// Unimplemented if the runtime does not report the layer.
func (c *Client) WritableLayer(ctx context.Context, container string) (Layer, error) {
	snapshotter, err := c.snapshotter(ctx)
	if err != nil {
		return Layer{}, err
	}
	if snapshotter != "" {
		return c.layerUsage(ctx, snapshotter, container)
	}
	r, err := callWithRetry(ctx, c, func(ctx context.Context) (*cri.ContainerStatsResponse, error) {
		return c.runtime.ContainerStats(ctx, &cri.ContainerStatsRequest{ContainerId: container})
	})
	if err != nil {
		return Layer{}, err
	}
	usage := r.GetStats().GetWritableLayer()
	if usage == nil {
		return Layer{}, status.Errorf(codes.Unimplemented, "the runtime does not report the writable layer of container %s", container)
	}
	return Layer{Key: container, Bytes: int64(usage.GetUsedBytes().GetValue()), Inodes: int64(usage.GetInodesUsed().GetValue())}, nil
}

func (c *Client) layerUsage(ctx context.Context, snapshotter, key string) (Layer, error) {
	r, err := callWithRetry(ctx, c, func(ctx context.Context) (*snapshots.UsageResponse, error) {
		ctx = metadata.AppendToOutgoingContext(ctx, "containerd-namespace", containerdNamespace)
		return snapshots.NewSnapshotsClient(c.conn).Usage(ctx, &snapshots.UsageRequest{Snapshotter: snapshotter, Key: key})
	})
	return Layer{Key: key, Bytes: r.GetSize(), Inodes: r.GetInodes()}, err
}

// snapshotter returns the name of containerd's snapshotter, or "" for other runtimes. The image file
// system's directory ends with it: io.containerd.snapshotter.v1.overlayfs.
func (c *Client) snapshotter(ctx context.Context) (string, error) {
	if name, err := c.runtimeName(ctx); err != nil || name != "containerd" {
		return "", err
	}
	info, err := c.ImageFsInfo(ctx)
	if err != nil {
		return "", err
	}
	for _, fs := range info.GetImageFilesystems() {
		if _, snapshotter, ok := strings.Cut(path.Base(fs.GetFsId().GetMountpoint()), "snapshotter.v1."); ok {
			return snapshotter, nil
		}
	}
	return "", status.Error(codes.Unimplemented, "containerd does not report its snapshotter")
}

// diffIDs returns the digests of the image's layers from containerd's verbose status.
func (c *Client) diffIDs(ctx context.Context, id string) ([]string, error) {
	r, err := callWithRetry(ctx, c, func(ctx context.Context) (*cri.ImageStatusResponse, error) {
		return c.images.ImageStatus(ctx, &cri.ImageStatusRequest{Image: &cri.ImageSpec{Image: id}, Verbose: true})
	})
	if err != nil {
		return nil, err
	}
	if r.Image == nil {
		return nil, status.Errorf(codes.NotFound, "image %s: not found", id)
	}
	var info struct {
		ImageSpec struct {
			RootFS struct {
				DiffIDs []string `json:"diff_ids"`
			} `json:"rootfs"`
		} `json:"imageSpec"`
	}
	if err := json.Unmarshal([]byte(r.Info["info"]), &info); err != nil {
		return nil, fmt.Errorf("image %s: parsing containerd's image info: %w", id, err)
	}
	return info.ImageSpec.RootFS.DiffIDs, nil
}
