package config

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	componentconfig "k8s.io/component-base/config/v1alpha1"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berthproject/berth/engine/placement/framework"
)

// API version and kind of kube-scheduler's configuration file.
const (
	SchedulerAPIVersion = schedulerv1.GroupName + "/v1"
	SchedulerKind       = "KubeSchedulerConfiguration"
)

// KubeScheduler is a compiled KubeSchedulerConfiguration: with defaults, resolved plugins
// and compiled arguments.
type KubeScheduler struct {
	// Profiles is never empty, and names are unique. NumericTolerations is not set, because it
	// is an option of BerthConfiguration (numericTolerations). Preemption is false if
	// DefaultPreemption is disabled at postFilter.
	Profiles []framework.Config
	// Extenders are in calling order. Their managed resources with ignoredByScheduler are in
	// Fit.IgnoredResources of each profile.
	Extenders                  Extenders
	LeaderElection             LeaderElection
	Client                     ClientConnection
	InitialBackoff, MaxBackoff time.Duration
	// Profiling serves pprof. ContentionProfiling adds goroutine contention; unlike in
	// kube-scheduler it is off by default, because it slows down the whole process.
	Profiling, ContentionProfiling bool
	// DelayCacheUntilActive starts informers only on the leader.
	DelayCacheUntilActive bool
	// Warnings lists fields without effect, with their paths.
	Warnings []string

	addedAffinity map[string][]byte // NodeAffinity arguments as in the file, by profile
}

// LeaderElection configures leader election.
type LeaderElection struct {
	Enabled                                   bool
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
	Namespace, Name                           string
}

// ClientConnection configures the client of the API server.
type ClientConnection struct {
	Kubeconfig                      string // empty: not set
	AcceptContentTypes, ContentType string
	QPS                             float32 // negative: no limit
	Burst                           int
}

// DefaultKubeScheduler returns the default configuration.
func DefaultKubeScheduler() KubeScheduler {
	return compileScheduler(&diagnostics{}, &schedulerv1.KubeSchedulerConfiguration{}) // the defaults are valid, see TestDefaultProfileMatchesEngine
}

// ReadKubeScheduler decodes a KubeSchedulerConfiguration over kube-scheduler's defaults.
// It returns all unknown fields, duplicate fields and invalid values at once.
func ReadKubeScheduler(d Document) (KubeScheduler, error) {
	if d.APIVersion != SchedulerAPIVersion || d.Kind != SchedulerKind {
		return KubeScheduler{}, UnsupportedKindError(d)
	}
	diags := &diagnostics{}
	var c schedulerv1.KubeSchedulerConfiguration
	diags.decode("", d.JSON, &c)
	k := compileScheduler(diags, &c)
	if len(diags.errs) > 0 {
		for i := range diags.errs {
			diags.errs[i] = fmt.Errorf("%s: %w", d.File, diags.errs[i])
		}
		return KubeScheduler{}, errors.Join(diags.errs...)
	}
	for i := range k.Warnings {
		k.Warnings[i] = d.File + ": " + k.Warnings[i]
	}
	return k, nil
}

// UnsupportedKindError returns an error that describes why a document's kind is not supported, and what to do.
func UnsupportedKindError(d Document) error {
	problem := fmt.Sprintf("must be %s %s, %s %s or %s %s", SchedulerAPIVersion, SchedulerKind, KubeletAPIVersion, KubeletKind, APIVersion, Kind)
	switch group, version, _ := strings.Cut(d.APIVersion, "/"); {
	case d.Kind == SchedulerKind && group == schedulerv1.GroupName && strings.HasPrefix(version, "v1beta3"):
		problem = "was removed in Kubernetes 1.29: set apiVersion to " + SchedulerAPIVersion + "; the fields are the same"
	case d.Kind == SchedulerKind && group == schedulerv1.GroupName && (strings.HasPrefix(version, "v1beta") || strings.HasPrefix(version, "v1alpha")):
		problem = "was removed in Kubernetes 1.28 or before: set apiVersion to " + SchedulerAPIVersion +
			", remove healthzBindAddress and metricsBindAddress (there is the flag --metrics-bind-address), and give NodeResourcesFit a scoringStrategy in place of NodeResourcesLeastAllocated, NodeResourcesMostAllocated or RequestedToCapacityRatio"
	case d.Kind == "Policy":
		problem = "Policy was removed in Kubernetes 1.23: use a " + SchedulerKind + " of " + SchedulerAPIVersion + " with profiles and extenders instead"
	}
	return fmt.Errorf("%s: %s %s: %s", d.File, d.APIVersion, d.Kind, problem)
}

func compileScheduler(diags *diagnostics, c *schedulerv1.KubeSchedulerConfiguration) KubeScheduler {
	initial, maximum := derefOr(c.PodInitialBackoffSeconds, 1), derefOr(c.PodMaxBackoffSeconds, 10)
	k := KubeScheduler{
		InitialBackoff: time.Duration(initial) * time.Second, MaxBackoff: time.Duration(maximum) * time.Second,
		Profiling:             derefOr(c.EnableProfiling, true),
		ContentionProfiling:   derefOr(c.EnableProfiling, true) && derefOr(c.EnableContentionProfiling, false),
		DelayCacheUntilActive: c.DelayCacheUntilActive,
		LeaderElection:        compileLeaderElection(diags, &c.LeaderElection),
		Client:                compileClientConnection(diags, &c.ClientConnection),
	}
	diags.requireAtLeast("parallelism", int64(derefOr(c.Parallelism, 16)), 1)
	if c.Parallelism != nil {
		diags.warnf("parallelism: %d: has no effect: one goroutine makes all decisions", *c.Parallelism)
	}
	diags.requireAtLeast("podInitialBackoffSeconds", initial, 1)
	diags.requireAtMost("podInitialBackoffSeconds", initial, maxSeconds)
	diags.requireAtMost("podMaxBackoffSeconds", maximum, maxSeconds)
	if maximum < initial {
		diags.errorf("podMaxBackoffSeconds: %d: must be at least podInitialBackoffSeconds, %d", maximum, initial)
	}
	diags.warnNodeSampling("percentageOfNodesToScore", c.PercentageOfNodesToScore)
	if c.DelayCacheUntilActive && !k.LeaderElection.Enabled {
		diags.warnf("delayCacheUntilActive: true: has no effect without leader election")
	}
	if derefOr(c.EnableContentionProfiling, false) && !k.Profiling {
		diags.warnf("enableContentionProfiling: true: has no effect without enableProfiling")
	}
	var ignored []string
	k.Extenders, ignored = compileExtenders(diags, c.Extenders)
	k.Profiles = compileProfiles(diags, c.Profiles)
	k.addedAffinity = addedAffinityArgs(k.Profiles, c.Profiles)
	ignoreManagedResources(k.Profiles, ignored)
	k.Warnings = diags.warnings
	return k
}

// addedAffinityArgs returns the NodeAffinity arguments by profile. Compiled profiles do not contain them.
func addedAffinityArgs(profiles []framework.Config, in []schedulerv1.KubeSchedulerProfile) map[string][]byte {
	out := map[string][]byte{}
	for i := range in {
		for _, c := range in[i].PluginConfig {
			if c.Name == "NodeAffinity" && len(c.Args.Raw) > 0 {
				out[profiles[i].Name] = c.Args.Raw
			}
		}
	}
	return out
}

// warnNodeSampling validates percentageOfNodesToScore and warns that it has no effect.
func (d *diagnostics) warnNodeSampling(path string, v *int32) {
	d.requirePercentage(path, v)
	if v != nil {
		d.warnf("%s: %d: has no effect: all nodes are scored", path, *v)
	}
}

// maxSeconds is the maximum number of configured seconds, which does not overflow a time.Duration. It limits other
// counts, too.
const maxSeconds = 1 << 32

func compileLeaderElection(diags *diagnostics, c *componentconfig.LeaderElectionConfiguration) LeaderElection {
	l := LeaderElection{
		Enabled:       derefOr(c.LeaderElect, true),
		LeaseDuration: cmp.Or(c.LeaseDuration.Duration, 15*time.Second),
		RenewDeadline: cmp.Or(c.RenewDeadline.Duration, 10*time.Second),
		RetryPeriod:   cmp.Or(c.RetryPeriod.Duration, 2*time.Second),
		Namespace:     cmp.Or(c.ResourceNamespace, schedulerv1.SchedulerDefaultLockObjectNamespace),
		Name:          cmp.Or(c.ResourceName, schedulerv1.SchedulerDefaultLockObjectName),
	}
	if !l.Enabled {
		return l
	}
	const p = "leaderElection."
	if c.ResourceLock != "" && c.ResourceLock != "leases" {
		diags.errorf(p+"resourceLock: %q: must be leases", c.ResourceLock)
	}
	if l.RetryPeriod <= 0 {
		diags.errorf(p+"retryPeriod: %v: must be above 0", l.RetryPeriod)
	}
	if l.LeaseDuration <= l.RenewDeadline {
		diags.errorf(p+"leaseDuration: %v: must be above renewDeadline, %v", l.LeaseDuration, l.RenewDeadline)
	}
	if l.RenewDeadline <= l.RetryPeriod+l.RetryPeriod/5 {
		diags.errorf(p+"renewDeadline: %v: must be above 1.2 times retryPeriod, %v", l.RenewDeadline, l.RetryPeriod)
	}
	return l
}

func compileClientConnection(diags *diagnostics, c *componentconfig.ClientConnectionConfiguration) ClientConnection {
	const protobuf = "application/vnd.kubernetes.protobuf"
	out := ClientConnection{
		Kubeconfig: c.Kubeconfig, AcceptContentTypes: c.AcceptContentTypes,
		ContentType: cmp.Or(c.ContentType, protobuf), QPS: c.QPS, Burst: int(c.Burst),
	}
	if out.QPS == 0 {
		out.QPS = -1 // kube-scheduler's limit of 50 would slow Berth down; the server limits requests
	}
	if out.Burst == 0 {
		out.Burst = 100
	}
	diags.requireAtLeast("clientConnection.burst", int64(out.Burst), 1)
	if c.AcceptContentTypes != "" {
		diags.warnf("clientConnection.acceptContentTypes: %q: has no effect: protobuf is preferred to JSON", c.AcceptContentTypes)
	}
	if out.ContentType != protobuf && out.ContentType != "application/json" {
		diags.errorf("clientConnection.contentType: %q: must be %s or application/json", c.ContentType, protobuf)
	}
	return out
}

// derefOr returns *p, or fallback if p is nil.
func derefOr[T any](p *T, fallback T) T {
	if p == nil {
		return fallback
	}
	return *p
}
