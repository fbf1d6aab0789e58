package config

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
	kjson "sigs.k8s.io/json"

	"github.com/berthproject/berth/engine/nodepressure"
)

// APIVersion and Kind of a KubeletConfiguration.
const (
	KubeletAPIVersion = "kubelet.config.k8s.io/v1beta1"
	KubeletKind       = "KubeletConfiguration"
)

// Kubelet is a KubeletConfiguration with the kubelet's defaults. It has the fields that
// Berth uses.
type Kubelet struct {
	// Pressure has no Layout, which the node detects, and no Options.
	Pressure nodepressure.Config
	// HasEvictionHard reports whether evictionHard is set. Otherwise the hard thresholds of Pressure are the defaults.
	HasEvictionHard bool
	// LowDiskSpaceThresholdMB is the disk reserve in MiB, nil if it is not set. OutOfDiskTransition is
	// the minimum duration of the condition OutOfDisk.
	LowDiskSpaceThresholdMB *int64
	OutOfDiskTransition     time.Duration

	KubeReserved, SystemReserved             corev1.ResourceList // includes pid
	KubeReservedCgroup, SystemReservedCgroup string
	EnforceNodeAllocatable                   []string
	CgroupRoot                               string
	MaxPods, PodsPerCore                     int32 // PodsPerCore 0: no limit
	PodPidsLimit                             int64 // negative: no limit
	CPUCFSQuota                              bool

	Images   ImageCollection
	Logs     ContainerLogs
	Shutdown Shutdown

	RegisterNode       bool
	RegisterWithTaints []corev1.Taint
	NodeStatusReport   time.Duration // interval for unchanged status
	NodeLeaseDuration  time.Duration
	NodeStatusImages   int32 // maximum number of images in the status; negative: all

	StaticPodPath      string        // "": no static pods
	FileCheckFrequency time.Duration // interval between reads of StaticPodPath

	ClusterDNS           []string
	ClusterDomain        string
	ResolvConf           string
	AllowedUnsafeSysctls []string
	SeccompDefault       bool
	// UserNamespaceIDs is the number of user IDs of a pod with its own user namespace.
	UserNamespaceIDs uint32

	SerializeImagePulls   bool
	MaxParallelImagePulls int32         // 0: no limit
	MaxRestartDelay       time.Duration // maximum backoff of a failing container

	RuntimeEndpoint string
	Address         string
	Port            int32

	// Warnings lists fields without effect.
	Warnings []string
}

// ImageCollection configures image garbage collection.
type ImageCollection struct {
	MinimumAge  time.Duration
	MaximumAge  time.Duration // 0: no limit
	HighPercent int32         // disk usage that starts garbage collection
	LowPercent  int32         // disk usage that ends it
}

// ContainerLogs configures log rotation.
type ContainerLogs struct {
	MaxSize  int64 // bytes
	MaxFiles int32
}

// Shutdown configures graceful node shutdown; zero disables it.
type Shutdown struct {
	Total, Critical time.Duration // Critical is the part of Total reserved for critical pods
	ByPriority      []ShutdownPriority
}

// ShutdownPriority is the grace period of pods with at least this priority.
type ShutdownPriority struct {
	Priority int32
	Grace    time.Duration
}

// DefaultKubelet returns the kubelet's defaults.
func DefaultKubelet() Kubelet {
	k, err := ReadKubelet(Document{APIVersion: KubeletAPIVersion, Kind: KubeletKind,
		JSON: []byte(`{"apiVersion":"` + KubeletAPIVersion + `","kind":"` + KubeletKind + `"}`)})
	if err != nil {
		return Kubelet{} // unreachable, see TestDefaultKubelet
	}
	return k
}

// ReadKubelet decodes a KubeletConfiguration. It returns all unknown fields and invalid
// values at once. Fields without effect in Berth produce one warning.
func ReadKubelet(d Document) (Kubelet, error) {
	if d.APIVersion != KubeletAPIVersion || d.Kind != KubeletKind {
		return Kubelet{}, fmt.Errorf("%s: %s %s: must be %s %s", d.File, d.APIVersion, d.Kind, KubeletAPIVersion, KubeletKind)
	}
	diags := &diagnostics{}
	var c kubeletv1beta1.KubeletConfiguration
	remaining, diskSpace := diags.extractDiskSpace(d.JSON)
	diags.decode("", remaining, &c)
	k := compileKubelet(diags, &c)
	diags.compileDiskSpace(&k, diskSpace)
	k.Warnings = diags.warnings
	if ignored := ignoredKubeletFields(remaining); len(ignored) > 0 {
		k.Warnings = append(k.Warnings, "fields without effect: "+strings.Join(ignored, ", "))
	}
	for i := range diags.errs {
		diags.errs[i] = fmt.Errorf("%s: %w", d.sourceOf(diags.errs[i].Error()), diags.errs[i])
	}
	for i := range k.Warnings {
		k.Warnings[i] = d.sourceOf(k.Warnings[i]) + ": " + k.Warnings[i]
	}
	return k, errors.Join(diags.errs...)
}

// HardEviction returns the memory and ephemeral storage below the hard eviction thresholds of a node. They are not allocatable.
func (k *Kubelet) HardEviction(capacity corev1.ResourceList) corev1.ResourceList {
	names := map[nodepressure.Signal]corev1.ResourceName{nodepressure.MemoryAvailable: corev1.ResourceMemory, nodepressure.NodeFsAvailable: corev1.ResourceEphemeralStorage}
	out := corev1.ResourceList{}
	for _, t := range k.Pressure.Thresholds {
		if name, ok := names[t.Signal]; ok && t.Hard() {
			total := capacity[name]
			out[name] = *resource.NewQuantity(t.Value.Of(total.Value()).Amount, resource.BinarySI)
		}
	}
	return out
}

// supportedKubeletFields lists the fields that compileKubelet uses, and fields whose
// effect Berth always has.
var supportedKubeletFields = []string{"apiVersion", "kind", "address", "allowedUnsafeSysctls", "cgroupRoot", "clusterDNS", "clusterDomain", "containerLogMaxFiles",
	"containerLogMaxSize", "containerRuntimeEndpoint", "cpuCFSQuota", "crashLoopBackOff", "enforceNodeAllocatable", "evictionHard",
	"evictionMaxPodGracePeriod", "evictionMinimumReclaim", "evictionPressureTransitionPeriod", "evictionSoft", "evictionSoftGracePeriod", "fileCheckFrequency",
	"imageGCHighThresholdPercent", "imageGCLowThresholdPercent", "imageMaximumGCAge", "imageMinimumGCAge", "kernelMemcgNotification", "kubeReserved",
	"kubeReservedCgroup", "localStorageCapacityIsolation", "maxParallelImagePulls", "maxPods", "mergeDefaultEvictionSettings",
	"nodeLeaseDurationSeconds", "nodeStatusMaxImages", "nodeStatusReportFrequency", "podPidsLimit", "podsPerCore", "port", "registerNode",
	"registerWithTaints", "resolvConf", "seccompDefault", "serializeImagePulls", "shutdownGracePeriod", "shutdownGracePeriodByPodPriority",
	"shutdownGracePeriodCriticalPods", "staticPodPath", "systemReserved", "systemReservedCgroup", "userNamespaces"}

// HasKubeletEffect reports whether a field of a KubeletConfiguration has an effect.
func HasKubeletEffect(field string) bool { return slices.Contains(supportedKubeletFields, field) }

// ignoredKubeletFields returns the fields of a file that have no effect.
func ignoredKubeletFields(js []byte) []string {
	var values map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(js, &values); err != nil {
		return nil // reported by decode
	}
	allFields := fieldsOf(reflect.TypeFor[kubeletv1beta1.KubeletConfiguration]())
	return slices.DeleteFunc(slices.Sorted(maps.Keys(values)), func(name string) bool {
		return allFields[name] == nil || HasKubeletEffect(name)
	})
}
