package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// kubeletFlags holds the kubelet's flags that override fields of the KubeletConfiguration. The keys
// of the maps are flag names.
type kubeletFlags struct {
	thresholds map[string]*thresholds
	pairs      map[string]*map[string]string
	numbers    map[string]*int32
	durations  map[string]*time.Duration
	lists      map[string]*[]string
	domain     string
	manifests  string
	memcg      bool
	taints     []string
	labels     map[string]string // of the Node; the KubeletConfiguration has no such field
	flags      *pflag.FlagSet
}

// kubeletFields maps the flags to fields of the KubeletConfiguration.
var kubeletFields = map[string]string{
	"eviction-hard": "evictionHard", "eviction-soft": "evictionSoft", "eviction-soft-grace-period": "evictionSoftGracePeriod", "eviction-minimum-reclaim": "evictionMinimumReclaim",
	"eviction-max-pod-grace-period": "evictionMaxPodGracePeriod", "eviction-pressure-transition-period": "evictionPressureTransitionPeriod",
	"kernel-memcg-notification": "kernelMemcgNotification", "experimental-kernel-memcg-notification": "kernelMemcgNotification",
	"kube-reserved": "kubeReserved", "system-reserved": "systemReserved", "enforce-node-allocatable": "enforceNodeAllocatable",
	"image-gc-high-threshold": "imageGCHighThresholdPercent", "image-gc-low-threshold": "imageGCLowThresholdPercent", "minimum-image-ttl-duration": "imageMinimumGCAge",
	"max-pods": "maxPods", "register-with-taints": "registerWithTaints", "cluster-dns": "clusterDNS", "cluster-domain": "clusterDomain",
	"pod-manifest-path": "staticPodPath",
}

// kubeletRealFlags are the kubelet flags that simulated nodes do not use.
var kubeletRealFlags = []string{"image-gc-high-threshold", "image-gc-low-threshold", "minimum-image-ttl-duration", "cluster-dns", "cluster-domain", "pod-manifest-path"}

func (f *kubeletFlags) addFlags(flags *pflag.FlagSet) {
	f.flags = flags
	f.thresholds, f.pairs, f.numbers = map[string]*thresholds{}, map[string]*map[string]string{}, map[string]*int32{}
	f.durations, f.lists = map[string]*time.Duration{}, map[string]*[]string{}
	for name, usage := range map[string]string{
		"eviction-hard": "hard eviction thresholds, for example memory.available<100Mi,nodefs.available<10%",
		"eviction-soft": "soft eviction thresholds, for example memory.available<300Mi"} {
		f.thresholds[name] = &thresholds{}
		flags.Var(f.thresholds[name], name, usage)
	}
	for name, usage := range map[string]string{
		"eviction-soft-grace-period": "grace periods of the soft thresholds, for example memory.available=1m30s",
		"eviction-minimum-reclaim":   "what an eviction must reclaim, for example nodefs.available=500Mi",
		"kube-reserved":              "resources reserved for Kubernetes, for example cpu=200m,memory=500Mi",
		"system-reserved":            "resources reserved for the operating system, for example cpu=200m,memory=500Mi"} {
		f.pairs[name] = flags.StringToString(name, nil, usage)
	}
	for name, usage := range map[string]string{
		"eviction-max-pod-grace-period": "maximum grace period of pods, in seconds, when a soft threshold is met",
		"image-gc-high-threshold":       "disk usage in percent that starts image garbage collection (default 85)",
		"image-gc-low-threshold":        "disk usage in percent that ends image garbage collection (default 80)",
		"max-pods":                      "maximum number of pods on the node (default 110)"} {
		f.numbers[name] = flags.Int32(name, 0, usage)
	}
	for name, usage := range map[string]string{
		"eviction-pressure-transition-period": "how long a node condition outlasts the pressure (default 5m0s)",
		"minimum-image-ttl-duration":          "minimum age of an unused image that is collected (default 2m0s)"} {
		f.durations[name] = flags.Duration(name, 0, usage)
	}
	for name, usage := range map[string]string{
		"cluster-dns":              "addresses of the cluster's DNS servers",
		"enforce-node-allocatable": "which reservations are enforced: pods or none (default pods)"} {
		f.lists[name] = flags.StringSlice(name, nil, usage)
	}
	flags.StringVar(&f.domain, "cluster-domain", "", "DNS domain of the cluster")
	flags.StringVar(&f.manifests, "pod-manifest-path", "", "directory of the manifests of static pods, or one manifest")
	flags.BoolVar(&f.memcg, "kernel-memcg-notification", true, "accepted for compatibility: the kernel always notifies about memory")
	flags.BoolVar(&f.memcg, "experimental-kernel-memcg-notification", true, "the same as --kernel-memcg-notification")
	_ = flags.MarkHidden("experimental-kernel-memcg-notification") // fails only for unknown flags
	flags.StringToStringVar(&f.labels, "node-labels", nil, "labels of the Node, for example a=b,c=d")
	flags.StringSliceVar(&f.taints, "register-with-taints", nil, "taints of the Node, for example key=value:NoSchedule")
	for name, field := range kubeletFields {
		if field != "kernelMemcgNotification" { // has no effect
			flags.Lookup(name).Usage += "; overrides " + field + " of --config"
		}
	}
}

// fields returns the fields of the KubeletConfiguration that flags set.
func (f *kubeletFlags) fields() (map[string]any, error) {
	out := map[string]any{}
	var firstErr error
	f.flags.Visit(func(flag *pflag.Flag) {
		if field := kubeletFields[flag.Name]; field != "" {
			value, err := f.value(flag.Name)
			if err != nil && firstErr == nil {
				firstErr = err
			}
			out[field] = value
		}
	})
	return out, firstErr
}

// value returns the value of a flag as in the file.
func (f *kubeletFlags) value(name string) (any, error) {
	switch {
	case f.thresholds[name] != nil:
		return *f.thresholds[name], nil
	case f.pairs[name] != nil:
		return maps.Clone(*f.pairs[name]), nil
	case f.numbers[name] != nil:
		return *f.numbers[name], nil
	case f.durations[name] != nil:
		return f.durations[name].String(), nil
	case f.lists[name] != nil:
		return *f.lists[name], nil
	case name == "cluster-domain":
		return f.domain, nil
	case name == "pod-manifest-path":
		return f.manifests, nil
	case name == "register-with-taints":
		return f.parseTaints()
	}
	return f.memcg, nil
}

func (f *kubeletFlags) parseTaints() ([]corev1.Taint, error) {
	out := []corev1.Taint{}
	for _, t := range f.taints {
		taint, err := parseTaint(t)
		if err != nil {
			return nil, fmt.Errorf("--register-with-taints %q: %w", t, err)
		}
		out = append(out, taint)
	}
	return out, nil
}

func (f *kubeletFlags) validateLabels() error {
	for k, v := range f.labels {
		if problems := slices.Concat(validation.IsQualifiedName(k), validation.IsValidLabelValue(v)); len(problems) > 0 {
			return fmt.Errorf("--node-labels %s=%s: %s", k, v, problems[0])
		}
	}
	return nil
}

// thresholds is a flag value of the form SIGNAL<VALUE,SIGNAL<VALUE.
type thresholds map[string]string

// String returns the value of the flag.
func (t *thresholds) String() string {
	var parts []string
	for _, signal := range slices.Sorted(maps.Keys(*t)) {
		parts = append(parts, signal+"<"+(*t)[signal])
	}
	return strings.Join(parts, ",")
}

// Set adds thresholds.
func (t *thresholds) Set(text string) error {
	if *t == nil {
		*t = thresholds{}
	}
	for part := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		signal, value, ok := strings.Cut(part, "<")
		if !ok {
			return fmt.Errorf("%q: must be SIGNAL<VALUE, for example memory.available<100Mi", part)
		}
		(*t)[strings.TrimSpace(signal)] = strings.TrimSpace(value)
	}
	return nil
}

// Type returns the type as shown in the help.
func (*thresholds) Type() string { return "thresholds" }
