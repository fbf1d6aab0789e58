package volume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent/runtime"
)

// Options configures Volumes.
type Options struct {
	// Client uses the node's credential.
	Client kubernetes.Interface
	// Root is the agent's directory; volumes are in Root/pods.
	Root string
	// Node returns the node object: its labels are checked for local volumes, and its allocatable
	// is the default of resourceFieldRef limits.
	Node func() *corev1.Node
	// DiskReserve returns how many bytes of the file system of dir must stay free when the capacity of a claim is
	// reserved there. capacity is the capacity of the file system in bytes. Optional; the default is MinDiskReserve.
	DiskReserve func(dir string, capacity int64) (int64, error)
	// ClaimBytes limits the total capacity of the node's claims of Berth's provisioner that have disk images; 0 means no limit.
	ClaimBytes int64
	// Event records an event about a pod. Optional.
	Event func(pod *corev1.Pod, eventType, reason, message string)
	// ImageMounts provides the content of image volumes. Optional: the runtime mounts images itself.
	ImageMounts runtime.ImageMounts
	Log         klog.Logger
}

// Volumes manages the volumes of all pods of a node. Methods may be called concurrently for
// different pods.
type Volumes struct {
	opts Options
	root string // Root/pods without symbolic links
	now  func() time.Time
	wake chan struct{} // capacity 1: signals changed metadata

	mu   sync.Mutex
	pods map[types.UID]*podVolumes

	claimMu sync.Mutex // held while volumes of Berth's provisioner are mounted and unmounted
	// claimUsers are the pods that use a volume of Berth's provisioner, by the volume's directory.
	claimUsers map[string]map[types.UID]bool
}

// podVolumes is the state of a prepared pod.
type podVolumes struct {
	tokens  tokenCache
	setUpMu sync.Mutex // held while volumes are set up, and when teardown begins

	mu              sync.Mutex
	pod             *corev1.Pod
	tornDown        bool // Teardown was called: nothing may be written
	metadataChanged bool // labels or annotations changed since the last write
	incomplete      bool // a volume could not be set up; refresh retries
	volumes         map[string]mountedVolume
}

// mountedVolume is a volume after its setup.
type mountedVolume struct {
	hostPath   string // directory or file on the node, "" for a device
	device     string // block device on the node
	readOnly   bool
	hasPayload bool   // has files from the API, such as those of a ConfigMap
	immutable  bool   // the payload cannot change
	measured   bool   // Usage measures it
	tmpfs      bool   // on a tmpfs
	claim      string // name of the claim
	isImage    bool   // hostPath or image is set by MountImage
	image      string // the image that the runtime mounts
	limit      int64  // capacity of a claim that Usage must measure by file; 0: none
}

// New returns a Volumes and creates its root directory.
func New(opts Options) (*Volumes, error) {
	root := filepath.Join(opts.Root, "pods")
	if err := os.MkdirAll(root, 0o750); err != nil {
		return nil, err
	}
	root, err := filepath.EvalSymlinks(root) // as in mountinfo
	if err != nil {
		return nil, err
	}
	if root, err = filepath.Abs(root); err != nil {
		return nil, err
	}
	return &Volumes{opts: opts, root: root, now: time.Now, wake: make(chan struct{}, 1), pods: map[types.UID]*podVolumes{},
		claimUsers: map[string]map[types.UID]bool{}}, nil
}

// Error is an error about volumes with the reason and message of the kubelet's event.
type Error struct {
	Reason  string // always FailedMount
	Message string
	cause   error
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

func (e *Error) Unwrap() error { return e.cause }

// Prepare sets up the volumes that the pod's containers use. It is idempotent and does not
// change existing data, so it is also called for running pods after a restart. After an error
// (*Error if an event should be recorded) the caller retries.
func (v *Volumes) Prepare(ctx context.Context, pod *corev1.Pod) error {
	dir, err := v.podDir(pod.UID)
	if err != nil {
		return err
	}
	return v.setUpAll(ctx, v.findOrAddPod(pod), pod, dir)
}

// setUpAll sets up the missing volumes of a pod.
func (v *Volumes) setUpAll(ctx context.Context, p *podVolumes, pod *corev1.Pod, dir string) (err error) {
	p.setUpMu.Lock()
	defer p.setUpMu.Unlock()
	if p.isTornDown() {
		return fmt.Errorf("volumes of pod %s/%s: already removed", pod.Namespace, pod.Name)
	}
	used := usedVolumes(pod)
	b := &payloadBuilder{Volumes: v, pod: pod, tokens: &p.tokens, reader: newObjectReader(v.opts.Client)}
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		if !used[volume.Name] || p.hasVolume(volume.Name) {
			continue
		}
		m, setUpErr := v.setUp(ctx, b, p, dir, volume)
		if setUpErr != nil {
			if err == nil { // only the first error is reported
				err = &Error{Reason: "FailedMount", Message: fmt.Sprintf("MountVolume.SetUp failed for volume %q : %v", volume.Name, setUpErr), cause: setUpErr}
			}
			continue
		}
		p.mu.Lock()
		p.volumes[volume.Name] = m
		p.mu.Unlock()
	}
	p.mu.Lock()
	p.incomplete = err != nil
	p.mu.Unlock()
	return err
}

// findOrAddPod returns the state of a pod, which it creates if necessary.
func (v *Volumes) findOrAddPod(pod *corev1.Pod) *podVolumes {
	v.mu.Lock()
	defer v.mu.Unlock()
	p := v.pods[pod.UID]
	if p == nil {
		p = &podVolumes{volumes: map[string]mountedVolume{}, tokens: tokenCache{cached: map[tokenSource]token{}}}
		v.pods[pod.UID] = p
	}
	p.mu.Lock()
	p.pod = pod
	p.mu.Unlock()
	return p
}

// findPod returns the state of a pod, or nil.
func (v *Volumes) findPod(uid types.UID) *podVolumes {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.pods[uid]
}

func (p *podVolumes) hasVolume(volume string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.volumes[volume]
	return ok
}

func (p *podVolumes) isTornDown() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tornDown
}

func (v *Volumes) setUp(ctx context.Context, b *payloadBuilder, p *podVolumes, dir string, volume *corev1.Volume) (mountedVolume, error) {
	dir = filepath.Join(dir, "volumes", pluginDirName(volume), volume.Name)
	switch s := volume.VolumeSource; {
	case s.EmptyDir != nil:
		return mountedVolume{hostPath: dir, measured: true, tmpfs: s.EmptyDir.Medium == corev1.StorageMediumMemory}, v.setUpEmptyDir(b.pod, dir, s.EmptyDir)
	case s.HostPath != nil:
		return mountedVolume{hostPath: s.HostPath.Path}, checkHostPath(s.HostPath.Path, s.HostPath.Type)
	case s.PersistentVolumeClaim != nil || s.Ephemeral != nil:
		return v.resolveClaim(ctx, b.pod, volume)
	case s.Image != nil:
		return mountedVolume{isImage: true, readOnly: true}, nil
	}
	files, ok, err := b.payload(ctx, volume)
	if err != nil {
		return mountedVolume{}, err
	}
	if !ok {
		return mountedVolume{}, errors.New("unsupported kind of volume; use emptyDir, hostPath, persistentVolumeClaim, ephemeral, image, configMap, secret, downwardAPI or projected")
	}
	m := mountedVolume{hostPath: dir, readOnly: true, hasPayload: true, immutable: b.immutable, measured: true, tmpfs: usesTmpfs(volume)}
	return m, p.writePayload(volume, m, files)
}

func (p *podVolumes) writePayload(volume *corev1.Volume, m mountedVolume, files payload) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tornDown {
		return nil
	}
	if err := os.MkdirAll(m.hostPath, 0o755); err != nil {
		return err
	}
	if m.tmpfs {
		if err := mountTmpfs(m.hostPath, 0, 0o755, noFSGroup); err != nil {
			return err
		}
	}
	return writePayload(m.hostPath, files, fsGroup(p.pod))
}

// usesTmpfs reports whether the files of a volume are kept in memory.
func usesTmpfs(volume *corev1.Volume) bool { return volume.Secret != nil || volume.Projected != nil }

// pluginDirName returns the kubelet's directory name for the volume's kind.
func pluginDirName(volume *corev1.Volume) string {
	switch s := volume.VolumeSource; {
	case s.EmptyDir != nil:
		return "kubernetes.io~empty-dir"
	case s.ConfigMap != nil:
		return "kubernetes.io~configmap"
	case s.Secret != nil:
		return "kubernetes.io~secret"
	case s.DownwardAPI != nil:
		return "kubernetes.io~downward-api"
	}
	return "kubernetes.io~projected"
}

// podDir returns the directory of a pod.
func (v *Volumes) podDir(uid types.UID) (string, error) {
	if name := string(uid); name == "" || name == "." || !filepath.IsLocal(name) || filepath.Base(name) != name {
		return "", fmt.Errorf("pod UID %q: not a valid directory name", uid)
	}
	return filepath.Join(v.root, string(uid)), nil
}

// usedVolumes returns the names of volumes that containers mount or use as devices.
func usedVolumes(pod *corev1.Pod) map[string]bool {
	out := map[string]bool{}
	for c := range containers(pod) {
		for _, m := range c.VolumeMounts {
			out[m.Name] = true
		}
		for _, d := range c.VolumeDevices {
			out[d.Name] = true
		}
	}
	return out
}

// containers iterates over init, regular and ephemeral containers.
func containers(pod *corev1.Pod) iter.Seq[*corev1.Container] {
	return func(yield func(*corev1.Container) bool) {
		for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
			for i := range list {
				if !yield(&list[i]) {
					return
				}
			}
		}
		for i := range pod.Spec.EphemeralContainers {
			c := corev1.Container(pod.Spec.EphemeralContainers[i].EphemeralContainerCommon)
			if !yield(&c) {
				return
			}
		}
	}
}

// Pods returns the pods with a directory in Root/pods.
func (v *Volumes) Pods() ([]types.UID, error) {
	entries, err := os.ReadDir(v.root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []types.UID
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, types.UID(e.Name()))
		}
	}
	return out, nil
}
