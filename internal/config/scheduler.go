package config

import (
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	componentconfig "k8s.io/component-base/config/v1alpha1"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"
	kjson "sigs.k8s.io/json"

	"github.com/berthproject/berth/engine/placement"
)

// SchedulerAPIVersion and SchedulerKind are those of kube-scheduler's file.
const (
	SchedulerAPIVersion = schedulerv1.GroupName + "/v1"
	SchedulerKind       = "KubeSchedulerConfiguration"
)

// KubeScheduler is what a KubeSchedulerConfiguration comes down to: defaults
// filled in, plugins resolved, arguments compiled.
//
// percentageOfNodesToScore is checked and has no effect: all nodes are scored.
type KubeScheduler struct {
	// Profiles are never empty; names are unique. NumericTolerations is not set
	// here: it is an option of BerthConfiguration.
	Profiles                   []placement.Config
	Parallelism                int
	LeaderElection             LeaderElection
	Client                     ClientConnection
	InitialBackoff, MaxBackoff time.Duration
	Profiling                  bool
	ContentionProfiling        bool
	DelayCacheUntilActive      bool
}

// LeaderElection is how one of several schedulers comes to lead.
type LeaderElection struct {
	Enabled                                   bool
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
	Namespace, Name                           string
}

// ClientConnection is how the API server is reached.
type ClientConnection struct {
	Kubeconfig                      string // empty: not given
	AcceptContentTypes, ContentType string
	QPS                             float32 // requests a second; negative: no limit
	Burst                           int
}

// DefaultKubeScheduler is the configuration without a file.
func DefaultKubeScheduler() KubeScheduler {
	k, _ := compileScheduler(&schedulerv1.KubeSchedulerConfiguration{}) // nothing is wrong with it; a test holds that
	return k
}

// ReadKubeScheduler decodes a KubeSchedulerConfiguration over kube-scheduler's
// defaults. Unknown fields, fields given twice and impossible values are
// refused with their paths, all at once.
func ReadKubeScheduler(d Document) (KubeScheduler, error) {
	if d.APIVersion != SchedulerAPIVersion || d.Kind != SchedulerKind {
		return KubeScheduler{}, fmt.Errorf("%s: %s %s: must be %s %s", d.File, d.APIVersion, d.Kind, SchedulerAPIVersion, SchedulerKind)
	}
	var c schedulerv1.KubeSchedulerConfiguration
	strict, err := kjson.UnmarshalStrict(d.JSON, &c)
	if err != nil {
		return KubeScheduler{}, fmt.Errorf("%s: %w", d.File, err)
	}
	k, err := compileScheduler(&c)
	if err := errors.Join(append(strict, err)...); err != nil {
		return KubeScheduler{}, fmt.Errorf("%s: %w", d.File, err)
	}
	return k, nil
}

func compileScheduler(c *schedulerv1.KubeSchedulerConfiguration) (KubeScheduler, error) {
	f := &faults{}
	k := KubeScheduler{
		Parallelism:           int(or(c.Parallelism, 16)),
		InitialBackoff:        time.Duration(or(c.PodInitialBackoffSeconds, 1)) * time.Second,
		MaxBackoff:            time.Duration(or(c.PodMaxBackoffSeconds, 10)) * time.Second,
		Profiling:             or(c.EnableProfiling, true),
		ContentionProfiling:   or(c.EnableContentionProfiling, true),
		DelayCacheUntilActive: c.DelayCacheUntilActive,
		LeaderElection:        leaderElection(f, &c.LeaderElection),
		Client:                clientConnection(f, &c.ClientConnection),
	}
	f.atLeast("parallelism", int64(k.Parallelism), 1)
	f.atLeast("podInitialBackoffSeconds", or(c.PodInitialBackoffSeconds, 1), 1)
	f.atMost("podInitialBackoffSeconds", or(c.PodInitialBackoffSeconds, 1), maxSeconds)
	f.atMost("podMaxBackoffSeconds", or(c.PodMaxBackoffSeconds, 10), maxSeconds)
	if k.MaxBackoff < k.InitialBackoff {
		f.add("podMaxBackoffSeconds: %d: must be at least podInitialBackoffSeconds, %d", or(c.PodMaxBackoffSeconds, 10), or(c.PodInitialBackoffSeconds, 1))
	}
	f.percentage("percentageOfNodesToScore", c.PercentageOfNodesToScore)
	if len(c.Extenders) > 0 {
		f.add("extenders: %d given: extenders are not asked yet; remove them", len(c.Extenders))
	}
	k.Profiles = profiles(f, c.Profiles)
	return k, f.join()
}

// maxSeconds keeps a number of seconds within a time.Duration.
const maxSeconds = 1 << 32

func leaderElection(f *faults, c *componentconfig.LeaderElectionConfiguration) LeaderElection {
	l := LeaderElection{
		Enabled:       or(c.LeaderElect, true),
		LeaseDuration: duration(c.LeaseDuration, 15*time.Second),
		RenewDeadline: duration(c.RenewDeadline, 10*time.Second),
		RetryPeriod:   duration(c.RetryPeriod, 2*time.Second),
		Namespace:     text(c.ResourceNamespace, schedulerv1.SchedulerDefaultLockObjectNamespace),
		Name:          text(c.ResourceName, schedulerv1.SchedulerDefaultLockObjectName),
	}
	if !l.Enabled {
		return l
	}
	const p = "leaderElection."
	if c.ResourceLock != "" && c.ResourceLock != "leases" {
		f.add(p+"resourceLock: %q: must be leases", c.ResourceLock)
	}
	if l.RetryPeriod <= 0 {
		f.add(p+"retryPeriod: %v: must be above 0", l.RetryPeriod)
	}
	if l.LeaseDuration <= l.RenewDeadline {
		f.add(p+"leaseDuration: %v: must be above renewDeadline, %v", l.LeaseDuration, l.RenewDeadline)
	}
	if l.RenewDeadline <= l.RetryPeriod+l.RetryPeriod/5 {
		f.add(p+"renewDeadline: %v: must be above 1.2 times retryPeriod, %v", l.RenewDeadline, l.RetryPeriod)
	}
	return l
}

func clientConnection(f *faults, c *componentconfig.ClientConnectionConfiguration) ClientConnection {
	const protobuf = "application/vnd.kubernetes.protobuf"
	out := ClientConnection{
		Kubeconfig: c.Kubeconfig, AcceptContentTypes: c.AcceptContentTypes,
		ContentType: text(c.ContentType, protobuf), QPS: c.QPS, Burst: int(c.Burst),
	}
	if out.QPS == 0 {
		out.QPS = -1 // kube-scheduler's 50 would be Berth's bottleneck; the server says when it is too much
	}
	if out.Burst == 0 {
		out.Burst = 100
	}
	f.atLeast("clientConnection.burst", int64(out.Burst), 1)
	if out.ContentType != protobuf && out.ContentType != "application/json" {
		f.add("clientConnection.contentType: %q: must be %s or application/json", c.ContentType, protobuf)
	}
	return out
}

func duration(d metav1.Duration, otherwise time.Duration) time.Duration {
	if d.Duration == 0 {
		return otherwise
	}
	return d.Duration
}

func text(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func or[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}
