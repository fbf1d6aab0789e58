package podwarnings

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation/podfields"
)

// DeprecatedNodeLabels are the deprecated node labels with their warnings.
var DeprecatedNodeLabels = map[string]string{
	"beta.kubernetes.io/arch":                  `deprecated since v1.14; use "kubernetes.io/arch" instead`,
	"beta.kubernetes.io/os":                    `deprecated since v1.14; use "kubernetes.io/os" instead`,
	"failure-domain.beta.kubernetes.io/region": `deprecated since v1.17; use "topology.kubernetes.io/region" instead`,
	"failure-domain.beta.kubernetes.io/zone":   `deprecated since v1.17; use "topology.kubernetes.io/zone" instead`,
	"beta.kubernetes.io/instance-type":         `deprecated since v1.17; use "node.kubernetes.io/instance-type" instead`,
}

func (w *warnings) checkNodeLabels(spec *field.Path) {
	for key := range podfields.SortedByKey(w.spec.NodeSelector) {
		if reason, ok := DeprecatedNodeLabels[key]; ok {
			w.warnf(spec.Child("nodeSelector").Key(key), "%s", reason)
		}
	}
	if node := podfields.NodeAffinityOf(w.spec); node != nil {
		fldPath := spec.Child("affinity", "nodeAffinity")
		if required := node.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
			for i := range required.NodeSelectorTerms {
				w.checkNodeTerm(&required.NodeSelectorTerms[i], fldPath.Child(podfields.RequiredTerms, "nodeSelectorTerms").Index(i))
			}
		}
		for i := range node.PreferredDuringSchedulingIgnoredDuringExecution {
			w.checkNodeTerm(&node.PreferredDuringSchedulingIgnoredDuringExecution[i].Preference, fldPath.Child(podfields.PreferredTerms).Index(i).Child("preference"))
		}
	}
	for i, constraint := range w.spec.TopologySpreadConstraints {
		w.checkDeprecatedKey(constraint.TopologyKey, spec.Child("topologySpreadConstraints").Index(i).Child("topologyKey"))
	}
}

func (w *warnings) checkNodeTerm(term *corev1.NodeSelectorTerm, path *field.Path) {
	for i, expression := range term.MatchExpressions {
		w.checkDeprecatedKey(expression.Key, path.Child("matchExpressions").Index(i).Child("key"))
	}
}

func (w *warnings) checkDeprecatedKey(key string, path *field.Path) {
	if reason, ok := DeprecatedNodeLabels[key]; ok {
		w.warnf(path, "%s is %s", key, reason)
	}
}

// checkNullSelectors warns of missing label selectors, which match no pods.
func (w *warnings) checkNullSelectors(spec *field.Path) {
	const reason = "a null labelSelector results in matching no pod"
	if affinity := w.spec.Affinity; affinity != nil {
		required := func(terms []corev1.PodAffinityTerm, path *field.Path) {
			for i := range terms {
				if terms[i].LabelSelector == nil {
					w.warnf(path.Index(i).Child("labelSelector"), reason)
				}
			}
		}
		preferred := func(terms []corev1.WeightedPodAffinityTerm, path *field.Path) {
			for i := range terms {
				if terms[i].PodAffinityTerm.LabelSelector == nil {
					w.warnf(path.Index(i).Child("podAffinityTerm", "labelSelector"), reason)
				}
			}
		}
		if pod := affinity.PodAffinity; pod != nil {
			required(pod.RequiredDuringSchedulingIgnoredDuringExecution, spec.Child("affinity", "podAffinity", podfields.RequiredTerms))
			preferred(pod.PreferredDuringSchedulingIgnoredDuringExecution, spec.Child("affinity", "podAffinity", podfields.PreferredTerms))
		}
		if podAnti := affinity.PodAntiAffinity; podAnti != nil {
			required(podAnti.RequiredDuringSchedulingIgnoredDuringExecution, spec.Child("affinity", "podAntiAffinity", podfields.RequiredTerms))
			preferred(podAnti.PreferredDuringSchedulingIgnoredDuringExecution, spec.Child("affinity", "podAntiAffinity", podfields.PreferredTerms))
		}
	}
	for i, constraint := range w.spec.TopologySpreadConstraints {
		if constraint.LabelSelector == nil {
			w.warnf(spec.Child("topologySpreadConstraints").Index(i).Child("labelSelector"), reason)
		}
	}
}

// portDefinition is a port with its path.
type portDefinition struct {
	path *field.Path
	port corev1.ContainerPort
}

// checkPorts warns of duplicate and overlapping port definitions.
func (w *warnings) checkPorts(spec *field.Path) {
	seen := map[string][]portDefinition{}
	podfields.EachContainer(w.spec, spec, func(c *corev1.Container, path *field.Path) {
		for i, port := range c.Ports {
			idxPath := path.Child("ports").Index(i)
			if port.HostIP != "" && port.HostPort == 0 {
				w.warnf(idxPath, "hostIP set without hostPort: %+v", port)
			}
			key := fmt.Sprintf("%d/%s", port.ContainerPort, port.Protocol)
			for _, other := range seen[key] {
				w.checkPortPair(idxPath, port, other)
			}
			seen[key] = append(seen[key], portDefinition{idxPath, port})
		}
	})
}

func (w *warnings) checkPortPair(path *field.Path, port corev1.ContainerPort, other portDefinition) {
	samePort, oneAddress := port.HostPort == other.port.HostPort, (port.HostIP == "") != (other.port.HostIP == "")
	switch {
	case samePort && port.HostIP == other.port.HostIP:
		w.warnf(path, "duplicate port definition with %s", other.path)
	case port.HostPort == 0 || other.port.HostPort == 0:
		w.warnf(path, "overlapping port definition with %s", other.path)
	case samePort && oneAddress:
		w.warnf(path, "dangerously ambiguous port definition with %s", other.path)
	}
}
