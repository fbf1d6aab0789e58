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

// Policy says what may stay.
type Policy struct {
	// HighThresholdPercent of use of the image file system is where collection of images begins, LowPercent
	// where it ends. At a high mark of 100 it begins when nothing is available.
	HighThresholdPercent, LowThresholdPercent int
	// MinAge is how long an image has to be known to be removed, MaxAge how long it may be unused; 0: for ever.
	MinAge, MaxAge time.Duration
	// MinContainerAge is how long ago a container must have been made to be removed. Of those that are
	// dead DeadPerContainer are kept for each container of a pod, and Dead in all; negative: any number.
	MinContainerAge                   time.Duration
	MaxPerPodContainer, MaxContainers int
}

// DefaultPolicy is the kubelet's policy.
func DefaultPolicy() Policy {
	return Policy{HighThresholdPercent: 85, LowThresholdPercent: 80, MinAge: 2 * time.Minute, MaxPerPodContainer: 1, MaxContainers: -1}
}

// Validate says all that is wrong with the policy, in the terms of a KubeletConfiguration.
func (p Policy) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if p.HighThresholdPercent < 0 || p.HighThresholdPercent > 100 {
		bad("imageGCHighThresholdPercent %d: must be from 0 to 100", p.HighThresholdPercent)
	}
	if p.LowThresholdPercent < 0 || p.LowThresholdPercent > 100 {
		bad("imageGCLowThresholdPercent %d: must be from 0 to 100", p.LowThresholdPercent)
	}
	if p.LowThresholdPercent >= p.HighThresholdPercent {
		bad("imageGCLowThresholdPercent %d: must be less than imageGCHighThresholdPercent, which is %d", p.LowThresholdPercent, p.HighThresholdPercent)
	}
	if p.MinAge < 0 {
		bad("imageMinimumGCAge %v: must not be negative", p.MinAge)
	}
	if p.MaxAge < 0 {
		bad("imageMaximumGCAge %v: must not be negative", p.MaxAge)
	}
	if p.MaxAge != 0 && p.MaxAge <= p.MinAge {
		bad("imageMaximumGCAge %v: must be 0 or more than imageMinimumGCAge, which is %v", p.MaxAge, p.MinAge)
	}
	if p.MinContainerAge < 0 {
		bad("minimum age of dead containers %v: must not be negative", p.MinContainerAge)
	}
	return errors.Join(errs...)
}

// Containers are those of the node's pods; *pods.Runner has them.
type Containers interface {
	// Dead are the containers that have ended, oldest first.
	Dead(ctx context.Context) ([]pods.DeadContainer, error)
	// RemoveDead removes one, with its log.
	RemoveDead(ctx context.Context, d pods.DeadContainer) error
}

// Options of a Collector. What is not marked optional must be given.
type Options struct {
	Service runtime.Service
	// ImageFs is the file system of the images; a pod's writable layers are there, too.
	ImageFs *stats.Disk
	Policy  Policy
	// Containers are those that may be removed; optional: none is.
	Containers Containers
	// IsPodFinished says whether a pod has ended for good; optional: none has.
	IsPodFinished func(uid types.UID) bool
	// VolumeImages are the images that pods use without a container of it; optional.
	VolumeImages func() []string
	// PinnedImages are names of images that stay, such as that of the sandboxes.
	PinnedImages []string
	// BallastFile is a file on the image file system that is given up when it is full; "" for none.
	BallastFile string
	// RecordEvent records an event about the node; optional.
	RecordEvent func(eventType, reason, message string)
	// OnChange is told when an image has gone; optional.
	OnChange func()
	// ImageInterval and ContainersEvery are the pace of Run; 5 minutes and 1 minute when 0.
	ImageInterval, ContainerInterval time.Duration
	// Now is the time; time.Now when nil.
	Now     func() time.Time
	Log     klog.Logger
	Metrics *Metrics // optional
}

func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Service == nil:
		return o, errors.New("collect: Service: must be given")
	case o.ImageFs == nil:
		return o, errors.New("collect: ImageFs: must be given")
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

// event types, for short.
const warning = corev1.EventTypeWarning
