package gc

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent/pods"
	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/agent/stats"
)

// Policy configures garbage collection.
type Policy struct {
	// HighThresholdPercent is the usage of the image file system at which image collection starts,
	// LowThresholdPercent the usage at which it ends. With a HighThresholdPercent of 100 it starts when the disk is
	// full.
	HighThresholdPercent, LowThresholdPercent int
	// MinAge is the minimum age of an image to be removed. MaxAge is the maximum time an image may
	// be unused; 0 means no limit.
	MinAge, MaxAge time.Duration
	// MinContainerAge is the minimum age of a terminated container to be removed.
	// MaxPerPodContainer and MaxContainers limit the terminated containers kept per container of a
	// pod and in total; a negative value means no limit.
	MinContainerAge                   time.Duration
	MaxPerPodContainer, MaxContainers int
}

// DefaultPolicy returns the kubelet's default policy.
func DefaultPolicy() Policy {
	return Policy{HighThresholdPercent: 85, LowThresholdPercent: 80, MinAge: 2 * time.Minute, MaxPerPodContainer: 1, MaxContainers: -1}
}

// Validate returns all errors of the policy, named by the fields of KubeletConfiguration.
func (p Policy) Validate() error {
	var errs []error
	addError := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if p.HighThresholdPercent < 0 || p.HighThresholdPercent > 100 {
		addError("imageGCHighThresholdPercent %d: must be from 0 to 100", p.HighThresholdPercent)
	}
	if p.LowThresholdPercent < 0 || p.LowThresholdPercent > 100 {
		addError("imageGCLowThresholdPercent %d: must be from 0 to 100", p.LowThresholdPercent)
	}
	if p.LowThresholdPercent >= p.HighThresholdPercent {
		addError("imageGCLowThresholdPercent %d: must be less than imageGCHighThresholdPercent, which is %d", p.LowThresholdPercent, p.HighThresholdPercent)
	}
	if p.MinAge < 0 {
		addError("imageMinimumGCAge %v: must not be negative", p.MinAge)
	}
	if p.MaxAge < 0 {
		addError("imageMaximumGCAge %v: must not be negative", p.MaxAge)
	}
	if p.MaxAge != 0 && p.MaxAge <= p.MinAge {
		addError("imageMaximumGCAge %v: must be 0 or more than imageMinimumGCAge, which is %v", p.MaxAge, p.MinAge)
	}
	if p.MinContainerAge < 0 {
		addError("minimum age of terminated containers %v: must not be negative", p.MinContainerAge)
	}
	return errors.Join(errs...)
}

// Containers manages the terminated containers of a node; *pods.Runner implements it.
type Containers interface {
	// Terminated returns the terminated containers, oldest first.
	Terminated(ctx context.Context) ([]pods.TerminatedContainer, error)
	// RemoveTerminated removes a container and its log.
	RemoveTerminated(ctx context.Context, c pods.TerminatedContainer) error
}

// Options configures a Collector. Fields are required unless marked optional.
type Options struct {
	Service runtime.Service
	// ImageFs is the file system of images and writable layers.
	ImageFs *stats.Disk
	Policy  Policy
	// Containers is optional; without it only images are collected.
	Containers Containers
	// IsPodFinished reports whether a pod has terminated and does not restart; optional.
	IsPodFinished func(uid types.UID) bool
	// VolumeImages returns the images that pods use as volumes; optional.
	VolumeImages func() []string
	// PinnedImages are names of images to keep, such as the sandbox image.
	PinnedImages []string
	// BallastFile is the path of the ballast file on the image file system; "" for none.
	BallastFile string
	// RecordEvent records an event about the node; optional.
	RecordEvent func(eventType, reason, message string)
	// OnChange is called after an image was removed; optional.
	OnChange func()
	// ImageInterval and ContainerInterval are the periods of Run; default 5 min and 1 min.
	ImageInterval, ContainerInterval time.Duration
	// Now returns the current time; default time.Now.
	Now     func() time.Time
	Log     klog.Logger
	Metrics *Metrics // optional
}

func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Service == nil:
		return o, errors.New("image/gc: Service is required")
	case o.ImageFs == nil:
		return o, errors.New("image/gc: ImageFs is required")
	}
	if err := o.Policy.Validate(); err != nil {
		return o, err
	}
	if o.RecordEvent == nil {
		o.RecordEvent = func(string, string, string) {}
	}
	if o.OnChange == nil {
		o.OnChange = func() {}
	}
	if o.IsPodFinished == nil {
		o.IsPodFinished = func(types.UID) bool { return false }
	}
	if o.VolumeImages == nil {
		o.VolumeImages = func() []string { return nil }
	}
	if o.ImageInterval == 0 {
		o.ImageInterval = 5 * time.Minute
	}
	if o.ContainerInterval == 0 {
		o.ContainerInterval = time.Minute
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics()
	}
	return o, nil
}

const warning = corev1.EventTypeWarning
