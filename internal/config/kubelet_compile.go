package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"

	"github.com/berthproject/berth/engine/nodepressure"
)

// DefaultEvictionHard returns the default hard thresholds.
func DefaultEvictionHard() map[string]string {
	return map[string]string{"memory.available": "100Mi", "nodefs.available": "10%", "nodefs.inodesFree": "5%", "imagefs.available": "15%", "imagefs.inodesFree": "5%"}
}

// compileKubelet sets defaults, validates the configuration and converts it.
func compileKubelet(d *diagnostics, c *kubeletv1beta1.KubeletConfiguration) Kubelet {
	k := Kubelet{
		KubeReserved: d.parseReserved("kubeReserved", c.KubeReserved), SystemReserved: d.parseReserved("systemReserved", c.SystemReserved),
		KubeReservedCgroup: c.KubeReservedCgroup, SystemReservedCgroup: c.SystemReservedCgroup,
		EnforceNodeAllocatable: c.EnforceNodeAllocatable, CgroupRoot: c.CgroupRoot,
		MaxPods: cmp.Or(c.MaxPods, 110), PodsPerCore: c.PodsPerCore, PodPidsLimit: derefOr(c.PodPidsLimit, -1), CPUCFSQuota: derefOr(c.CPUCFSQuota, true),
		Images: ImageCollection{MinimumAge: cmp.Or(c.ImageMinimumGCAge.Duration, 2*time.Minute), MaximumAge: c.ImageMaximumGCAge.Duration,
			HighPercent: derefOr(c.ImageGCHighThresholdPercent, 85), LowPercent: derefOr(c.ImageGCLowThresholdPercent, 80)},
		Logs:         ContainerLogs{MaxSize: 10 << 20, MaxFiles: derefOr(c.ContainerLogMaxFiles, 5)},
		RegisterNode: derefOr(c.RegisterNode, true), RegisterWithTaints: c.RegisterWithTaints,
		NodeStatusReport: cmp.Or(c.NodeStatusReportFrequency.Duration, 5*time.Minute), NodeStatusImages: derefOr(c.NodeStatusMaxImages, 50),
		NodeLeaseDuration: time.Duration(cmp.Or(c.NodeLeaseDurationSeconds, 40)) * time.Second,
		StaticPodPath:     c.StaticPodPath, FileCheckFrequency: cmp.Or(c.FileCheckFrequency.Duration, 20*time.Second),
		ClusterDNS: c.ClusterDNS, ClusterDomain: cmp.Or(c.ClusterDomain, defaultClusterDomain), ResolvConf: derefOr(c.ResolverConfig, "/etc/resolv.conf"),
		AllowedUnsafeSysctls: c.AllowedUnsafeSysctls, SeccompDefault: derefOr(c.SeccompDefault, false),
		MaxParallelImagePulls: derefOr(c.MaxParallelImagePulls, 0), MaxRestartDelay: 5 * time.Minute,
		RuntimeEndpoint: c.ContainerRuntimeEndpoint, Address: cmp.Or(c.Address, "0.0.0.0"), Port: cmp.Or(c.Port, 10250),
	}
	k.SerializeImagePulls = derefOr(c.SerializeImagePulls, k.MaxParallelImagePulls <= 1)
	if c.EnforceNodeAllocatable == nil {
		k.EnforceNodeAllocatable = []string{enforcePods}
	}
	if period := c.CrashLoopBackOff.MaxContainerRestartPeriod; period != nil {
		k.MaxRestartDelay = period.Duration
	}
	d.compileLogs(&k, c.ContainerLogMaxSize)
	d.compileUserNamespaces(&k, c.UserNamespaces)
	d.compileShutdown(&k, c)
	d.compileEviction(&k, c)
	d.validateKubelet(&k, c)
	return k
}

// userNamespaceUnit is the default number of user IDs of a pod; other numbers are its multiples.
const userNamespaceUnit = 65536

func (d *diagnostics) compileUserNamespaces(k *Kubelet, c *kubeletv1beta1.UserNamespaces) {
	k.UserNamespaceIDs = userNamespaceUnit
	if c == nil || c.IDsPerPod == nil {
		return
	}
	n := *c.IDsPerPod
	if n < userNamespaceUnit || n%userNamespaceUnit != 0 || n > math.MaxUint32 {
		d.errorf("userNamespaces.idsPerPod: %d: must be a positive multiple of %d below 2^32", n, userNamespaceUnit)
		return
	}
	k.UserNamespaceIDs = uint32(n)
}

// defaultClusterDomain is the cluster domain that kubeadm and other installers configure.
const defaultClusterDomain = "cluster.local"

func (d *diagnostics) compileEviction(k *Kubelet, c *kubeletv1beta1.KubeletConfiguration) {
	e := Eviction{Hard: c.EvictionHard, Soft: c.EvictionSoft, SoftGracePeriod: c.EvictionSoftGracePeriod, MinimumReclaim: c.EvictionMinimumReclaim}
	switch defaults := DefaultEvictionHard(); {
	case e.Hard == nil:
		e.Hard = defaults
	case derefOr(c.MergeDefaultEvictionSettings, false):
		maps.Copy(defaults, e.Hard)
		e.Hard = defaults
	default:
		d.warnMissingDefaults(e.Hard, defaults)
	}
	thresholds, invalid := e.read(k.EnforceNodeAllocatable)
	for _, t := range invalid {
		d.errorf("%s.%s: %q: %w%s", t.field, t.signal, t.value, t.message(), suggestSignal(t.signal))
	}
	for _, name := range sortedKeys(e.Hard) {
		if strings.HasPrefix(name, "containerfs.") {
			d.warnf("evictionHard.%s: has no effect: containerfs has the thresholds of the file system that contains it", name)
		}
	}
	k.Pressure = nodepressure.Config{Thresholds: thresholds, TransitionPeriod: cmp.Or(c.EvictionPressureTransitionPeriod.Duration, 5*time.Minute),
		MaxPodGrace: int64(c.EvictionMaxPodGracePeriod), LocalStorage: derefOr(c.LocalStorageCapacityIsolation, true)}
	k.HasEvictionHard = c.EvictionHard != nil
	d.requireNonNegative("evictionPressureTransitionPeriod", k.Pressure.TransitionPeriod)
}

// message returns the error, with examples if the parser's message has none.
func (s *thresholdError) message() error {
	for _, formatErr := range []error{resource.ErrFormatWrong, resource.ErrNumeric, resource.ErrSuffix, strconv.ErrSyntax} {
		if errors.Is(s.err, formatErr) {
			return errors.New("must be an amount such as 100Mi, or a share such as 5%")
		}
	}
	return s.err
}

// warnMissingDefaults warns about default thresholds that are disabled because other thresholds are set
// (kubernetes#121809).
func (d *diagnostics) warnMissingDefaults(values, defaults map[string]string) {
	for _, name := range sortedKeys(defaults) {
		if values[name] == "" {
			d.warnf("evictionHard: the default threshold %s is disabled because evictionHard is set without it: add it, or set mergeDefaultEvictionSettings", name)
		}
	}
}

// suggestSignal suggests a signal similar to an unknown one.
func suggestSignal(name string) string {
	if _, ok := nodepressure.ParseSignal(name); ok {
		return ""
	}
	var names []string
	for s := range nodepressure.NumSignals {
		names = append(names, s.String())
	}
	return "; " + suggest(name, names)
}

func (d *diagnostics) parseReserved(path string, in map[string]string) corev1.ResourceList {
	out := corev1.ResourceList{}
	allowed := []string{"cpu", "memory", "ephemeral-storage", "pid"}
	for _, name := range sortedKeys(in) {
		q, err := resource.ParseQuantity(in[name])
		switch {
		case !slices.Contains(allowed, name):
			d.errorf("%s.%s: unknown resource; %s", path, name, suggest(name, allowed))
		case err != nil:
			d.errorf("%s.%s: %q: must be a quantity such as 200m or 512Mi: %w", path, name, in[name], err)
		case q.Sign() < 0:
			d.errorf("%s.%s: %s: must be 0 or more", path, name, in[name])
		default:
			out[corev1.ResourceName(name)] = q
		}
	}
	return out
}

func (d *diagnostics) compileLogs(k *Kubelet, size string) {
	d.requireAtLeast("containerLogMaxFiles", int64(k.Logs.MaxFiles), 2)
	if size == "" {
		return
	}
	q, err := resource.ParseQuantity(size)
	if err != nil || q.Sign() <= 0 {
		d.errorf("containerLogMaxSize: %q: must be a quantity above 0, such as 10Mi", size)
		return
	}
	k.Logs.MaxSize = q.Value()
}

// compileShutdown compiles the graceful shutdown periods.
func (d *diagnostics) compileShutdown(k *Kubelet, c *kubeletv1beta1.KubeletConfiguration) {
	s := Shutdown{Total: c.ShutdownGracePeriod.Duration, Critical: c.ShutdownGracePeriodCriticalPods.Duration}
	d.requireZeroOrSecond("shutdownGracePeriod", s.Total)
	d.requireZeroOrSecond("shutdownGracePeriodCriticalPods", s.Critical)
	if s.Critical > s.Total {
		d.errorf("shutdownGracePeriodCriticalPods: %s: must be at most shutdownGracePeriod, %s", s.Critical, s.Total)
	}
	if len(c.ShutdownGracePeriodByPodPriority) > 0 && (s.Total > 0 || s.Critical > 0) {
		d.errorf("shutdownGracePeriodByPodPriority: must not be set together with shutdownGracePeriod and shutdownGracePeriodCriticalPods")
	}
	for i, p := range c.ShutdownGracePeriodByPodPriority {
		path := fmt.Sprintf("shutdownGracePeriodByPodPriority[%d]", i)
		d.requireAtLeast(path+".shutdownGracePeriodSeconds", p.ShutdownGracePeriodSeconds, 0)
		if slices.ContainsFunc(s.ByPriority, func(o ShutdownPriority) bool { return o.Priority == p.Priority }) {
			d.errorf("%s.priority: %d: must be given once", path, p.Priority)
		}
		s.ByPriority = append(s.ByPriority, ShutdownPriority{p.Priority, time.Duration(p.ShutdownGracePeriodSeconds) * time.Second})
	}
	slices.SortFunc(s.ByPriority, func(a, b ShutdownPriority) int { return cmp.Compare(a.Priority, b.Priority) })
	k.Shutdown = s
}

func (d *diagnostics) requireZeroOrSecond(path string, v time.Duration) {
	if v != 0 && v < time.Second {
		d.errorf("%s: %s: must be 0, or 1s or more", path, v)
	}
}

func (d *diagnostics) requireNonNegative(path string, v time.Duration) {
	if v < 0 {
		d.errorf("%s: %s: must be 0 or more", path, v)
	}
}

// validateKubelet validates the remaining fields.
func (d *diagnostics) validateKubelet(k *Kubelet, c *kubeletv1beta1.KubeletConfiguration) {
	d.requireAtLeast("maxPods", int64(k.MaxPods), 0)
	d.requireAtLeast("podsPerCore", int64(k.PodsPerCore), 0)
	if k.PodPidsLimit == 0 {
		d.errorf("podPidsLimit: 0: must be above 0, or -1 for no limit")
	}
	d.requirePercentage("imageGCHighThresholdPercent", &k.Images.HighPercent)
	d.requirePercentage("imageGCLowThresholdPercent", &k.Images.LowPercent)
	if k.Images.LowPercent >= k.Images.HighPercent {
		d.errorf("imageGCLowThresholdPercent: %d: must be below imageGCHighThresholdPercent, %d", k.Images.LowPercent, k.Images.HighPercent)
	}
	if path := k.StaticPodPath; path != "" && !filepath.IsAbs(path) {
		d.errorf("staticPodPath: %q: must be an absolute path", path)
	}
	d.requireNonNegative("fileCheckFrequency", k.FileCheckFrequency)
	d.requireNonNegative("imageMinimumGCAge", k.Images.MinimumAge)
	d.requireNonNegative("imageMaximumGCAge", k.Images.MaximumAge)
	if k.Images.MaximumAge > 0 && k.Images.MaximumAge <= k.Images.MinimumAge {
		d.errorf("imageMaximumGCAge: %s: must be 0, or above imageMinimumGCAge, %s", k.Images.MaximumAge, k.Images.MinimumAge)
	}
	if c.NodeLeaseDurationSeconds < 0 {
		d.errorf("nodeLeaseDurationSeconds: %d: must be above 0", c.NodeLeaseDurationSeconds)
	}
	d.requireAtLeast("nodeStatusMaxImages", int64(k.NodeStatusImages), -1)
	d.requireAtLeast("port", int64(k.Port), 1)
	d.requireAtMost("port", int64(k.Port), 65535)
	if n := c.MaxParallelImagePulls; n != nil && (*n < 1 || *n > 1 && derefOr(c.SerializeImagePulls, false)) {
		d.errorf("maxParallelImagePulls: %d: must be 1 or more, and 1 if serializeImagePulls is true", *n)
	}
	if delay := k.MaxRestartDelay; delay < time.Second || delay > 5*time.Minute {
		d.errorf("crashLoopBackOff.maxContainerRestartPeriod: %s: must be between 1s and 5m0s", delay)
	}
	d.validateEnforcement(k)
}

// validateEnforcement validates enforceNodeAllocatable.
func (d *diagnostics) validateEnforcement(k *Kubelet) {
	accepted := []string{"none", enforcePods, "system-reserved", "system-reserved-compressible", "kube-reserved", "kube-reserved-compressible"}
	for i, v := range k.EnforceNodeAllocatable {
		path := fmt.Sprintf("enforceNodeAllocatable[%d]", i)
		switch {
		case !slices.Contains(accepted, v):
			d.errorf("%s: %q: %s", path, v, suggest(v, accepted))
		case v == "none" && len(k.EnforceNodeAllocatable) > 1:
			d.errorf("%s: none: must be the only entry", path)
		case v != "none" && v != enforcePods:
			d.warnf("%s: %s: has no effect: only pods are limited", path, v)
		}
	}
}
