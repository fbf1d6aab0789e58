package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"

	"github.com/berthproject/berth/engine/pressure"
)

// DefaultEvictionHard are the hard thresholds where none are given.
func DefaultEvictionHard() map[string]string {
	return map[string]string{"memory.available": "100Mi", "nodefs.available": "10%", "nodefs.inodesFree": "5%", "imagefs.available": "15%", "imagefs.inodesFree": "5%"}
}

// orIfZero is the value of a field of which zero means not given, or its default.
func orIfZero[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// compileKubelet fills in the defaults and checks what is given.
func compileKubelet(f *faults, c *kubeletv1beta1.KubeletConfiguration) Kubelet {
	k := Kubelet{
		KubeReserved: f.reserved("kubeReserved", c.KubeReserved), SystemReserved: f.reserved("systemReserved", c.SystemReserved),
		KubeReservedCgroup: c.KubeReservedCgroup, SystemReservedCgroup: c.SystemReservedCgroup,
		EnforceNodeAllocatable: c.EnforceNodeAllocatable, CgroupRoot: c.CgroupRoot,
		MaxPods: orIfZero(c.MaxPods, 110), PodsPerCore: c.PodsPerCore, PodPidsLimit: or(c.PodPidsLimit, -1), CPUCFSQuota: or(c.CPUCFSQuota, true),
		Images: ImageCollection{MinimumAge: orIfZero(c.ImageMinimumGCAge.Duration, 2*time.Minute), MaximumAge: c.ImageMaximumGCAge.Duration,
			HighPercent: or(c.ImageGCHighThresholdPercent, 85), LowPercent: or(c.ImageGCLowThresholdPercent, 80)},
		Logs:         ContainerLogs{MaxSize: 10 << 20, MaxFiles: or(c.ContainerLogMaxFiles, 5)},
		RegisterNode: or(c.RegisterNode, true), RegisterWithTaints: c.RegisterWithTaints,
		NodeStatusReport: orIfZero(c.NodeStatusReportFrequency.Duration, 5*time.Minute), NodeStatusImages: or(c.NodeStatusMaxImages, 50),
		NodeLeaseDuration: time.Duration(orIfZero(c.NodeLeaseDurationSeconds, 40)) * time.Second,
		ClusterDNS:        c.ClusterDNS, ClusterDomain: c.ClusterDomain, ResolvConf: or(c.ResolverConfig, "/etc/resolv.conf"),
		AllowedUnsafeSysctls: c.AllowedUnsafeSysctls, SeccompDefault: or(c.SeccompDefault, false),
		MaxParallelImagePulls: or(c.MaxParallelImagePulls, 0), MaxRestartDelay: 5 * time.Minute,
		RuntimeEndpoint: c.ContainerRuntimeEndpoint, Address: orIfZero(c.Address, "0.0.0.0"), Port: orIfZero(c.Port, 10250),
	}
	k.SerializeImagePulls = or(c.SerializeImagePulls, k.MaxParallelImagePulls <= 1)
	if c.EnforceNodeAllocatable == nil {
		k.EnforceNodeAllocatable = []string{enforcePods}
	}
	if d := c.CrashLoopBackOff.MaxContainerRestartPeriod; d != nil {
		k.MaxRestartDelay = d.Duration
	}
	f.logs(&k, c.ContainerLogMaxSize)
	f.shutdown(&k, c)
	f.eviction(&k, c)
	f.kubeletLimits(&k, c)
	return k
}

// eviction compiles what is said of eviction thresholds.
func (f *faults) eviction(k *Kubelet, c *kubeletv1beta1.KubeletConfiguration) {
	e := Eviction{Hard: c.EvictionHard, Soft: c.EvictionSoft, SoftGracePeriod: c.EvictionSoftGracePeriod, MinimumReclaim: c.EvictionMinimumReclaim}
	switch defaults := DefaultEvictionHard(); {
	case e.Hard == nil:
		e.Hard = defaults
	case or(c.MergeDefaultEvictionSettings, false):
		maps.Copy(defaults, e.Hard)
		e.Hard = defaults
	default:
		f.lacking(e.Hard, defaults)
	}
	thresholds, found := e.read(k.EnforceNodeAllocatable)
	for _, fault := range found {
		f.add("%s.%s: %q: %w%s", fault.field, fault.signal, fault.value, fault.inWords(), suggestion(fault.signal))
	}
	for _, name := range sortedKeys(e.Hard) {
		if strings.HasPrefix(name, "containerfs.") {
			f.warn("evictionHard.%s: has no effect: that filesystem has the thresholds of the one that it lies on", name)
		}
	}
	k.Pressure = pressure.Config{Thresholds: thresholds, Transition: orIfZero(c.EvictionPressureTransitionPeriod.Duration, 5*time.Minute),
		MaxPodGrace: int64(c.EvictionMaxPodGracePeriod), LocalStorage: or(c.LocalStorageCapacityIsolation, true)}
	f.notNegative("evictionPressureTransitionPeriod", k.Pressure.Transition)
}

// inWords is the fault, with examples where the reader of numbers has only rules.
func (s *signalFault) inWords() error {
	for _, unread := range []error{resource.ErrFormatWrong, resource.ErrNumeric, resource.ErrSuffix, strconv.ErrSyntax} {
		if errors.Is(s.err, unread) {
			return errors.New("must be an amount such as 100Mi, or a share such as 5%")
		}
	}
	return s.err
}

// lacking warns of default thresholds that are off because others are given (kubernetes#121809).
func (f *faults) lacking(given, defaults map[string]string) {
	for _, name := range sortedKeys(defaults) {
		if given[name] == "" {
			f.warn("evictionHard: without %s, since it is given without it: add it, or set mergeDefaultEvictionSettings", name)
		}
	}
}

// suggestion is what to write in place of a signal that does not exist.
func suggestion(name string) string {
	if _, known := pressure.ParseSignal(name); known {
		return ""
	}
	var names []string
	for s := range pressure.NumSignals {
		names = append(names, s.String())
	}
	return "; " + instead(name, names)
}

// reserved reads the resources that are kept from pods.
func (f *faults) reserved(path string, of map[string]string) corev1.ResourceList {
	out := corev1.ResourceList{}
	allowed := []string{"cpu", "memory", "ephemeral-storage", "pid"}
	for _, name := range sortedKeys(of) {
		q, err := resource.ParseQuantity(of[name])
		switch {
		case !slices.Contains(allowed, name):
			f.add("%s.%s: unknown resource; %s", path, name, instead(name, allowed))
		case err != nil:
			f.add("%s.%s: %q: must be a quantity such as 200m or 512Mi: %w", path, name, of[name], err)
		case q.Sign() < 0:
			f.add("%s.%s: %s: must be 0 or more", path, name, of[name])
		default:
			out[corev1.ResourceName(name)] = q
		}
	}
	return out
}

func (f *faults) logs(k *Kubelet, size string) {
	f.atLeast("containerLogMaxFiles", int64(k.Logs.MaxFiles), 2)
	if size == "" {
		return
	}
	q, err := resource.ParseQuantity(size)
	if err != nil || q.Sign() <= 0 {
		f.add("containerLogMaxSize: %q: must be a quantity above 0, such as 10Mi", size)
		return
	}
	k.Logs.MaxSize = q.Value()
}

// shutdown compiles how long pods have at a shutdown.
func (f *faults) shutdown(k *Kubelet, c *kubeletv1beta1.KubeletConfiguration) {
	s := Shutdown{Total: c.ShutdownGracePeriod.Duration, Critical: c.ShutdownGracePeriodCriticalPods.Duration}
	f.secondOrMore("shutdownGracePeriod", s.Total)
	f.secondOrMore("shutdownGracePeriodCriticalPods", s.Critical)
	if s.Critical > s.Total {
		f.add("shutdownGracePeriodCriticalPods: %s: must be at most shutdownGracePeriod, %s", s.Critical, s.Total)
	}
	if len(c.ShutdownGracePeriodByPodPriority) > 0 && (s.Total > 0 || s.Critical > 0) {
		f.add("shutdownGracePeriodByPodPriority: must not be given beside shutdownGracePeriod and shutdownGracePeriodCriticalPods")
	}
	for i, p := range c.ShutdownGracePeriodByPodPriority {
		path := fmt.Sprintf("shutdownGracePeriodByPodPriority[%d]", i)
		f.atLeast(path+".shutdownGracePeriodSeconds", p.ShutdownGracePeriodSeconds, 0)
		if slices.ContainsFunc(s.ByPriority, func(o ShutdownPriority) bool { return o.Priority == p.Priority }) {
			f.add("%s.priority: %d: must be given once", path, p.Priority)
		}
		s.ByPriority = append(s.ByPriority, ShutdownPriority{p.Priority, time.Duration(p.ShutdownGracePeriodSeconds) * time.Second})
	}
	slices.SortFunc(s.ByPriority, func(a, b ShutdownPriority) int { return int(int64(a.Priority) - int64(b.Priority)) })
	k.Shutdown = s
}

func (f *faults) secondOrMore(path string, d time.Duration) {
	if d != 0 && d < time.Second {
		f.add("%s: %s: must be 0, or 1s or more", path, d)
	}
}

func (f *faults) notNegative(path string, d time.Duration) {
	if d < 0 {
		f.add("%s: %s: must be 0 or more", path, d)
	}
}

// kubeletLimits checks the rest.
func (f *faults) kubeletLimits(k *Kubelet, c *kubeletv1beta1.KubeletConfiguration) {
	f.atLeast("maxPods", int64(k.MaxPods), 0)
	f.atLeast("podsPerCore", int64(k.PodsPerCore), 0)
	if k.PodPidsLimit == 0 {
		f.add("podPidsLimit: 0: must be above 0, or -1 for no limit")
	}
	f.percentage("imageGCHighThresholdPercent", &k.Images.HighPercent)
	f.percentage("imageGCLowThresholdPercent", &k.Images.LowPercent)
	if k.Images.LowPercent >= k.Images.HighPercent {
		f.add("imageGCLowThresholdPercent: %d: must be below imageGCHighThresholdPercent, %d", k.Images.LowPercent, k.Images.HighPercent)
	}
	f.notNegative("imageMinimumGCAge", k.Images.MinimumAge)
	f.notNegative("imageMaximumGCAge", k.Images.MaximumAge)
	if k.Images.MaximumAge > 0 && k.Images.MaximumAge <= k.Images.MinimumAge {
		f.add("imageMaximumGCAge: %s: must be 0, or above imageMinimumGCAge, %s", k.Images.MaximumAge, k.Images.MinimumAge)
	}
	if c.NodeLeaseDurationSeconds < 0 {
		f.add("nodeLeaseDurationSeconds: %d: must be above 0", c.NodeLeaseDurationSeconds)
	}
	f.atLeast("nodeStatusMaxImages", int64(k.NodeStatusImages), -1)
	f.atLeast("port", int64(k.Port), 1)
	f.atMost("port", int64(k.Port), 65535)
	if n := c.MaxParallelImagePulls; n != nil && (*n < 1 || *n > 1 && or(c.SerializeImagePulls, false)) {
		f.add("maxParallelImagePulls: %d: must be 1 or more, and 1 if serializeImagePulls is true", *n)
	}
	if d := k.MaxRestartDelay; d < time.Second || d > 5*time.Minute {
		f.add("crashLoopBackOff.maxContainerRestartPeriod: %s: must be between 1s and 5m0s", d)
	}
	f.enforce(k)
}

// enforce checks what is said of enforcing reservations.
func (f *faults) enforce(k *Kubelet) {
	of := []string{"none", enforcePods, "system-reserved", "system-reserved-compressible", "kube-reserved", "kube-reserved-compressible"}
	for i, v := range k.EnforceNodeAllocatable {
		path := fmt.Sprintf("enforceNodeAllocatable[%d]", i)
		switch {
		case !slices.Contains(of, v):
			f.add("%s: %q: %s", path, v, instead(v, of))
		case v == "none" && len(k.EnforceNodeAllocatable) > 1:
			f.add("%s: none: must stand alone", path)
		case v != "none" && v != enforcePods:
			f.warn("%s: %s: has no effect: only pods are bounded", path, v)
		}
	}
}
