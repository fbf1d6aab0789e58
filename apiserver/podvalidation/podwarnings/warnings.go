package podwarnings

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation/podfields"
)

// PodWarnings returns warnings for a new pod. There are none on update (oldPod is set).
func PodWarnings(_ context.Context, newPod, oldPod *corev1.Pod) []string {
	if oldPod != nil || newPod.DeletionTimestamp != nil {
		return nil
	}
	w := warnings{spec: &newPod.Spec, annotations: newPod.Annotations}
	if reasons := validation.IsDNS1123Label(newPod.Name); len(reasons) > 0 {
		w.warnf(field.NewPath("metadata", "name"),
			"this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: %v", reasons)
	}
	return w.collect(nil)
}

// PodTemplateWarnings returns warnings for the template at path. oldTemplate is nil on creation.
func PodTemplateWarnings(_ context.Context, path *field.Path, newTemplate, oldTemplate *corev1.PodTemplateSpec) []string {
	if newTemplate == nil {
		return nil
	}
	var old map[string]string
	if oldTemplate != nil {
		old = oldTemplate.Annotations
	}
	w := warnings{spec: &newTemplate.Spec, annotations: newTemplate.Annotations, oldAnnotations: old}
	return w.collect(path)
}

// warnings collects the warnings of a pod spec in order.
type warnings struct {
	texts          []string
	spec           *corev1.PodSpec
	annotations    map[string]string
	oldAnnotations map[string]string
}

func (w *warnings) warnf(path *field.Path, format string, args ...any) {
	w.texts = append(w.texts, path.String()+": "+fmt.Sprintf(format, args...))
}

// childPath is path.Child for a path that may be nil.
func childPath(path *field.Path, name string, more ...string) *field.Path {
	if path == nil {
		return field.NewPath(name, more...)
	}
	return path.Child(name, more...)
}

func (w *warnings) collect(path *field.Path) []string {
	spec := childPath(path, "spec")
	w.checkNodeLabels(spec)
	w.checkDeprecatedAnnotations(childPath(path, "metadata", "annotations"))
	w.checkVolumePlugins(spec.Child("volumes"))
	w.checkRepeatedHostAliases(spec.Child("hostAliases"))
	w.checkPullSecrets(spec.Child("imagePullSecrets"))
	for _, name := range byteResourceNames {
		w.checkFractionalBytes(w.spec.Overhead, name, spec.Child("overhead"))
	}
	w.checkPodSeccomp(childPath(path, "metadata", "annotations"))
	podfields.EachContainer(w.spec, spec, func(c *corev1.Container, containerPath *field.Path) {
		w.checkContainer(c, containerPath, childPath(path, "metadata", "annotations"))
	})
	w.checkPorts(spec)
	w.checkNullSelectors(spec)
	w.checkAddresses(spec)
	return w.texts
}

func (w *warnings) checkDeprecatedAnnotations(path *field.Path) {
	const critical = "scheduler.alpha.kubernetes.io/critical-pod"
	if podfields.HasKey(w.annotations, critical) && !podfields.HasKey(w.oldAnnotations, critical) {
		w.warnf(path.Key(critical), `non-functional in v1.16+; use the "priorityClassName" field instead`)
	}
}

func (w *warnings) checkVolumePlugins(path *field.Path) {
	for i := range w.spec.Volumes {
		v, idxPath := &w.spec.Volumes[i], path.Index(i)
		for _, plugin := range []struct {
			name   string
			set    bool
			reason string
		}{
			{"photonPersistentDisk", v.PhotonPersistentDisk != nil, "deprecated in v1.11, non-functional in v1.16+"},
			{"gitRepo", v.GitRepo != nil, "deprecated in v1.11, and disabled by default in v1.33+"},
			{"scaleIO", v.ScaleIO != nil, "deprecated in v1.16, non-functional in v1.22+"},
			{"flocker", v.Flocker != nil, "deprecated in v1.22, non-functional in v1.25+"},
			{"storageOS", v.StorageOS != nil, "deprecated in v1.22, non-functional in v1.25+"},
			{"quobyte", v.Quobyte != nil, "deprecated in v1.22, non-functional in v1.25+"},
			{"glusterfs", v.Glusterfs != nil, "deprecated in v1.25, non-functional in v1.26+"},
			{"cephfs", v.CephFS != nil, "deprecated in v1.28, non-functional in v1.31+"},
			{"rbd", v.RBD != nil, "deprecated in v1.28, non-functional in v1.31+"},
		} {
			if plugin.set {
				w.warnf(idxPath.Child(plugin.name), "%s", plugin.reason)
			}
		}
		if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
			requests := v.Ephemeral.VolumeClaimTemplate.Spec.Resources.Requests
			w.checkFractionalBytes(requests, corev1.ResourceStorage, idxPath.Child("ephemeral", "volumeClaimTemplate", "spec", "resources", "requests"))
		}
	}
}

func (w *warnings) checkRepeatedHostAliases(path *field.Path) {
	seen := podfields.NameSet{}
	for i, alias := range w.spec.HostAliases {
		if !seen.Add(alias.IP) {
			w.warnf(path.Index(i).Child("ip"), "duplicate ip %q", alias.IP)
		}
	}
}

func (w *warnings) checkPullSecrets(path *field.Path) {
	seen := podfields.NameSet{}
	for i, secret := range w.spec.ImagePullSecrets {
		if !seen.Add(secret.Name) {
			w.warnf(path.Index(i).Child("name"), "duplicate name %q", secret.Name)
		}
	}
	for i, secret := range w.spec.ImagePullSecrets {
		if secret.Name == "" {
			w.warnf(path.Index(i).Child("name"), "invalid empty name %q", secret.Name)
		}
	}
}

// byteResourceNames are resources that are measured in bytes.
var byteResourceNames = []corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceEphemeralStorage}

func (w *warnings) checkFractionalBytes(list corev1.ResourceList, name corev1.ResourceName, path *field.Path) {
	if value, ok := list[name]; ok && value.MilliValue()%1000 != 0 {
		w.warnf(path.Key(string(name)), "fractional byte value %q is invalid, must be an integer", value.String())
	}
}

func (w *warnings) checkPodSeccomp(path *field.Path) {
	if podfields.HasKey(w.annotations, corev1.SeccompPodAnnotationKey) && podfields.Deref(w.spec.SecurityContext).SeccompProfile == nil {
		w.warnf(path.Key(corev1.SeccompPodAnnotationKey), `non-functional in v1.27+; use the "seccompProfile" field instead`)
	}
}

func (w *warnings) checkContainer(c *corev1.Container, path, annotations *field.Path) {
	sc := podfields.Deref(c.SecurityContext)
	if key := corev1.SeccompContainerAnnotationKeyPrefix + c.Name; podfields.HasKey(w.annotations, key) && sc.SeccompProfile == nil {
		w.warnf(annotations.Key(key), `non-functional in v1.27+; use the "seccompProfile" field instead`)
	}
	if key := corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix + c.Name; podfields.HasKey(w.annotations, key) &&
		sc.AppArmorProfile == nil && podfields.Deref(w.spec.SecurityContext).AppArmorProfile == nil {
		w.warnf(annotations.Key(key), `deprecated since v1.30; use the "appArmorProfile" field instead`)
	}
	for _, name := range byteResourceNames {
		w.checkFractionalBytes(c.Resources.Limits, name, path.Child("resources", "limits"))
		w.checkFractionalBytes(c.Resources.Requests, name, path.Child("resources", "requests"))
	}
	w.checkHiddenEnv(c.Env, path.Child("env"))
}

// checkHiddenEnv warns of variables that are defined twice, unless the second value extends the first.
func (w *warnings) checkHiddenEnv(vars []corev1.EnvVar, path *field.Path) {
	seen := podfields.NameSet{}
	for i, v := range vars {
		if seen.Add(v.Name) {
			continue
		}
		reference := "$(" + v.Name + ")"
		if v.ValueFrom != nil || v.Value == reference || !strings.Contains(v.Value, reference) {
			w.warnf(path.Index(i), "hides previous definition of %q, which may be dropped when using apply", v.Name)
		}
	}
}

// checkAddresses warns of IP addresses in a deprecated form.
func (w *warnings) checkAddresses(spec *field.Path) {
	if w.spec.DNSConfig != nil {
		for i, server := range w.spec.DNSConfig.Nameservers {
			w.checkAddress(server, spec.Child("dnsConfig", "nameservers").Index(i))
		}
	}
	for i, alias := range w.spec.HostAliases {
		w.checkAddress(alias.IP, spec.Child("hostAliases").Index(i).Child("ip"))
	}
}

func (w *warnings) checkAddress(ip string, path *field.Path) {
	if len(validation.IsValidIPForLegacyField(path, ip, false, nil)) == 0 {
		w.texts = append(w.texts, validation.GetWarningsForIP(path, ip)...)
	}
}
