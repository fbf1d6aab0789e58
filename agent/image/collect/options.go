package collect

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
	// HighPercent of use of the image file system is where collection of images begins, LowPercent
	// where it ends. At a high mark of 100 it begins when nothing is available.
	HighPercent, LowPercent int
	// MinAge is how long an image has to be known to be removed, MaxAge how long it may be unused; 0: for ever.
	MinAge, MaxAge time.Duration
	// DeadMinAge is how long ago a container must have been made to be removed. Of those that are
	// dead DeadPerContainer are kept for each container of a pod, and Dead in all; negative: any number.
	DeadMinAge             time.Duration
	DeadPerContainer, Dead int
}

// Default is the kubelet's policy.
func Default() Policy {
	return Policy{HighPercent: 85, LowPercent: 80, MinAge: 2 * time.Minute, DeadPerContainer: 1, Dead: -1}
}

// Validate says all that is wrong with the policy, in the terms of a KubeletConfiguration.
func (p Policy) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if p.HighPercent < 0 || p.HighPercent > 100 {
		bad("imageGCHighThresholdPercent %d: must be from 0 to 100", p.HighPercent)
	}
	if p.LowPercent < 0 || p.LowPercent > 100 {
		bad("imageGCLowThresholdPercent %d: must be from 0 to 100", p.LowPercent)
	}
	if p.LowPercent >= p.HighPercent {
		bad("imageGCLowThresholdPercent %d: must be less than imageGCHighThresholdPercent, which is %d", p.LowPercent, p.HighPercent)
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
	if p.DeadMinAge < 0 {
		bad("minimum age of dead containers %v: must not be negative", p.DeadMinAge)
	}
	return errors.Join(errs...)
}

// Containers are those of the node's pods; *pods.Runner has them.
type Containers interface {
	// Dead are the containers that have ended, oldest first.
	Dead(ctx context.Context) ([]pods.Dead, error)
	// RemoveDead removes one, with its log.
	RemoveDead(ctx context.Context, d pods.Dead) error
}

// Options of a Collector. What is not marked optional must be given.
type Options struct {
	Service runtime.Service
	// ImageFs is the file system of the images; a pod's writable layers are there, too.
	ImageFs *stats.Disk
	Policy  Policy
	// Containers are those that may be removed; optional: none is.
	Containers Containers
	// Finished says whether a pod has ended for good; optional: none has.
	Finished func(uid types.UID) bool
	// VolumeImages are the images that pods use without a container of it; optional.
	VolumeImages func() []string
	// Keep are names of images that stay, such as that of the sandboxes.
	Keep []string
	// Ballast is a file on the image file system that is given up when it is full; "" for none.
	Ballast string
	// Event records an event about the node; optional.
	Event func(eventType, reason, message string)
	// Changed is told when an image has gone; optional.
	Changed func()
	// ImagesEvery and ContainersEvery are the pace of Run; 5 minutes and 1 minute when 0.
	ImagesEvery, ContainersEvery time.Duration
	// Now is the time; time.Now when nil.
	Now     func() time.Time
	Log     klog.Logger
	Metrics *Metrics // optional
}

func (o Options) complete() (Options, error) {
	switch {
	case o.Service == nil:
		return o, errors.New("collect: Service: must be given")
	case o.ImageFs == nil:
		return o, errors.New("collect: ImageFs: must be given")
	}
	if err := o.Policy.Validate(); err != nil {
		return o, err
	}
	if o.Event == nil {
		o.Event = func(string, string, string) {}
	}
	if o.Changed == nil {
		o.Changed = func() {}
	}
	if o.Finished == nil {
		o.Finished = func(types.UID) bool { return false }
	}
	if o.VolumeImages == nil {
		o.VolumeImages = func() []string { return nil }
	}
	if o.ImagesEvery == 0 {
		o.ImagesEvery = 5 * time.Minute
	}
	if o.ContainersEvery == 0 {
		o.ContainersEvery = time.Minute
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
