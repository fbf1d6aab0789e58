//go:build linux

package disk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/types"
	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/pods"
	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/agent/runtime/cri"
	"github.com/berthproject/berth/agent/stats"
	"github.com/berthproject/berth/agent/volume"
)

// Options configures a Reporter. Fields are required unless marked optional.
type Options struct {
	Node    string
	Service runtime.Service
	// Layers measures layers. Optional: without it, sizes come from the runtime. Its size of an image is the
	// compressed size, and its stats have the sizes of writable layers.
	Layers Layers
	// NodeFs is the file system of Root; ImageFs that of images and writable layers.
	NodeFs, ImageFs *stats.Disk
	// Root is the agent's directory, with pod directories in pods/UID. LogRoot contains the pods'
	// logs.
	Root, LogRoot string
	// Pods returns the pods of the agent.
	Pods func() []pods.Pod
	// Volumes measures the volumes of a pod.
	Volumes interface {
		Usage(types.UID) ([]volume.Usage, error)
	}
	// PinnedImages are names of images exempt from garbage collection. Optional.
	PinnedImages []string
}

// Layers measures image and container layers. *cri.Client implements it for containerd.
type Layers interface {
	ImageLayers(ctx context.Context, id string) ([]cri.Layer, error)
	WritableLayer(ctx context.Context, container string) (cri.Layer, error)
}

// Reporter measures the disks of a node.
type Reporter struct{ opts Options }

// New validates the options and returns a Reporter.
func New(o Options) (*Reporter, error) {
	switch {
	case o.Service == nil || o.Pods == nil || o.Volumes == nil:
		return nil, errors.New("disk: Service, Pods and Volumes are required")
	case o.NodeFs == nil || o.ImageFs == nil:
		return nil, errors.New("disk: NodeFs and ImageFs are required")
	case !filepath.IsAbs(o.Root) || !filepath.IsAbs(o.LogRoot):
		return nil, fmt.Errorf("disk: Root %q and LogRoot %q must be absolute paths", o.Root, o.LogRoot)
	}
	return &Reporter{opts: o}, nil
}

// reportBuilder is the state of a measurement.
type reportBuilder struct {
	*Reporter
	Report
	imageFs string // name of the images' file system
}

// Report measures the disks. It walks all logs and volumes, which may take long. Parts that cannot be
// measured are listed in Report.Unknown. It returns an error if a file system cannot be measured or ctx
// is done.
func (r *Reporter) Report(ctx context.Context) (*Report, error) {
	now := time.Now()
	out := &reportBuilder{Reporter: r, Report: Report{Node: r.opts.Node, At: now, Consumers: []Consumer{}}, imageFs: ImageFs}
	if err := out.addFileSystems(now); err != nil {
		return nil, err
	}
	podList := r.opts.Pods()
	for _, part := range []struct {
		name    string
		measure func() error
	}{
		{"images", func() error { return out.addImages(ctx) }}, {"containers", func() error { return out.addContainers(ctx) }},
		{"logs", func() error { return out.addLogs(podList) }}, {"volumes", func() error { return out.addVolumes(podList) }},
	} {
		if err := part.measure(); err != nil {
			out.Unknown = append(out.Unknown, part.name+": "+err.Error())
		}
	}
	slices.SortFunc(out.Consumers, func(a, b Consumer) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.Name, b.Name))
	})
	out.computeOther()
	return &out.Report, ctx.Err()
}

// addFileSystems adds the node's and the images' file system: one entry if they are the same.
func (r *reportBuilder) addFileSystems(now time.Time) error {
	node, err := r.opts.NodeFs.Refresh(now)
	if err != nil {
		return err
	}
	image, err := r.opts.ImageFs.Refresh(now)
	if err != nil {
		return err
	}
	if node.DeviceID == image.DeviceID {
		r.imageFs = NodeFs
		r.FileSystems = []FileSystem{fileSystem(r.opts.NodeFs.Dir(), node, NodeFs, ImageFs)}
		return nil
	}
	r.FileSystems = []FileSystem{fileSystem(r.opts.NodeFs.Dir(), node, NodeFs), fileSystem(r.opts.ImageFs.Dir(), image, ImageFs)}
	return nil
}

func fileSystem(dir string, u stats.DiskUsage, names ...string) FileSystem {
	return FileSystem{Names: names, Dir: dir, Capacity: u.Capacity, Used: u.Used, Available: u.Available, Inodes: u.Inodes, InodesUsed: u.Inodes - u.InodesFree}
}

// computeOther sets the used space that belongs to no consumer.
func (r *reportBuilder) computeOther() {
	for i := range r.FileSystems {
		f := &r.FileSystems[i]
		f.Other = f.Used
		for _, c := range r.Consumers {
			if c.FileSystem == f.Names[0] {
				f.Other -= c.Bytes
			}
		}
		f.Other = max(0, f.Other) // usage may change during the measurement
	}
}

// addContainers adds the writable layers of all containers.
func (r *reportBuilder) addContainers(ctx context.Context) error {
	list, err := r.opts.Service.ListContainers(ctx, nil)
	if err != nil {
		return err
	}
	layers, err := r.writableLayers(ctx, list)
	errs := []error{err}
	for _, c := range list {
		layer, ok := layers[c.Id]
		if !ok {
			if err == nil {
				errs = append(errs, fmt.Errorf("writable layer of container %s: not reported by the runtime", shortID(c.Id)))
			}
			continue
		}
		kind := WritableLayer
		if c.State == criapi.ContainerState_CONTAINER_EXITED {
			kind = TerminatedContainer
		}
		l := c.Labels
		r.Consumers = append(r.Consumers, Consumer{Kind: kind, FileSystem: r.imageFs, Pod: l["io.kubernetes.pod.namespace"] + "/" + l["io.kubernetes.pod.name"],
			UID: l["io.kubernetes.pod.uid"], Name: c.GetMetadata().GetName(), Bytes: layer.Bytes, Inodes: layer.Inodes})
	}
	return errors.Join(errs...)
}

// writableLayers measures the writable layers of containers. It falls back to the runtime's stats if Layers is nil or
// not implemented.
func (r *reportBuilder) writableLayers(ctx context.Context, list []*criapi.Container) (map[string]cri.Layer, error) {
	if r.opts.Layers == nil {
		return r.writableFromStats(ctx)
	}
	out := map[string]cri.Layer{}
	var errs []error
	for _, c := range list {
		layer, err := r.opts.Layers.WritableLayer(ctx, c.Id)
		switch {
		case status.Code(err) == codes.Unimplemented:
			return r.writableFromStats(ctx)
		case err != nil:
			errs = append(errs, fmt.Errorf("writable layer of container %s: %w", shortID(c.Id), err))
		default:
			out[c.Id] = layer
		}
	}
	return out, errors.Join(errs...)
}

// writableFromStats returns the writable layers from the runtime's stats.
func (r *reportBuilder) writableFromStats(ctx context.Context) (map[string]cri.Layer, error) {
	list, err := r.opts.Service.ListContainerStats(ctx, nil)
	out := map[string]cri.Layer{}
	for _, s := range list {
		w := s.GetWritableLayer()
		out[s.GetAttributes().GetId()] = cri.Layer{Bytes: int64(w.GetUsedBytes().GetValue()), Inodes: int64(w.GetInodesUsed().GetValue())}
	}
	return out, err
}

// addLogs adds the logs of the pods' containers, and the log directories of other pods as orphans.
func (r *reportBuilder) addLogs(podList []pods.Pod) error {
	owners := map[string]pods.Pod{}
	for _, p := range podList {
		owners[filepath.Base(p.LogDir)] = p
	}
	dirs, err := os.ReadDir(r.opts.LogRoot)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	for _, d := range dirs {
		owner, ok := owners[d.Name()]
		if !ok {
			r.addOrphan(filepath.Join(r.opts.LogRoot, d.Name()), strings.ReplaceAll(d.Name(), "_", "/"), "logs")
			continue
		}
		containers, err := os.ReadDir(filepath.Join(r.opts.LogRoot, d.Name()))
		if err != nil {
			continue // the pod was removed concurrently
		}
		for _, c := range containers {
			usage := stats.MeasureDir(filepath.Join(r.opts.LogRoot, d.Name(), c.Name()))
			r.Consumers = append(r.Consumers, Consumer{Kind: Log, FileSystem: NodeFs, Pod: owner.Object.Namespace + "/" + owner.Object.Name,
				UID: string(owner.Object.UID), Name: c.Name(), Bytes: usage.Bytes, Inodes: usage.Inodes})
		}
	}
	return nil
}

// addVolumes adds the pods' volumes on the node's own disk, and the directories of other pods as
// orphans.
func (r *reportBuilder) addVolumes(podList []pods.Pod) error {
	var errs []error
	exists := map[string]bool{}
	for _, p := range podList {
		exists[string(p.Object.UID)] = true
		list, err := r.opts.Volumes.Usage(p.Object.UID)
		if err != nil {
			errs = append(errs, fmt.Errorf("pod %s/%s: %w", p.Object.Namespace, p.Object.Name, err))
		}
		for _, v := range list {
			if v.Local {
				r.Consumers = append(r.Consumers, Consumer{Kind: Volume, FileSystem: NodeFs, Pod: p.Object.Namespace + "/" + p.Object.Name,
					UID: string(p.Object.UID), Name: v.Name, Bytes: v.Bytes, Inodes: v.Inodes})
			}
		}
	}
	dirs, err := os.ReadDir(filepath.Join(r.opts.Root, "pods"))
	if err != nil && !os.IsNotExist(err) {
		errs = append(errs, err)
	}
	for _, d := range dirs {
		if !exists[d.Name()] {
			r.addOrphan(filepath.Join(r.opts.Root, "pods", d.Name()), d.Name(), "directory")
		}
	}
	return errors.Join(errs...)
}

// addOrphan adds a directory of a pod that the agent does not manage.
func (r *reportBuilder) addOrphan(dir, pod, name string) {
	usage := stats.MeasureDir(dir)
	r.Consumers = append(r.Consumers, Consumer{Kind: Orphan, FileSystem: NodeFs, Pod: pod, Name: name, Bytes: usage.Bytes, Inodes: usage.Inodes})
}

func shortID(id string) string { return id[:min(len(id), 13)] }
