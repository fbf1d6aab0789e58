package staticpod

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/berthproject/berth/apiserver/podvalidation"
	"github.com/berthproject/berth/apiserver/podvalidation/poddefaults"
)

// Annotations of static pods and their mirror pods.
const (
	ConfigHash   = "kubernetes.io/config.hash"
	ConfigSource = "kubernetes.io/config.source"
)

// builtinPriorities are the values of the priority classes that every cluster has.
var builtinPriorities = map[string]int32{"system-cluster-critical": 2000000000, "system-node-critical": 2000001000}

// parse returns the pod of a manifest, complete for the node.
func parse(text []byte, file, node string) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	if err := yaml.Unmarshal(text, pod); err != nil {
		return nil, fmt.Errorf("parsing YAML: %w", err)
	}
	switch {
	case pod.APIVersion != "v1" || pod.Kind != "Pod":
		return nil, fmt.Errorf("apiVersion %q, kind %q: must be v1 and Pod", pod.APIVersion, pod.Kind)
	case pod.Name == "":
		return nil, errors.New("metadata.name: required")
	}
	content, err := json.Marshal(pod)
	if err != nil {
		return nil, err
	}
	hash := sha256.Sum256(fmt.Appendf(content, "\x00host:%s\x00file:%s", node, file))
	complete(pod, node, hex.EncodeToString(hash[:16]))
	poddefaults.DefaultPod(pod)
	if errs := podvalidation.ValidatePod(pod); len(errs) > 0 {
		return nil, fmt.Errorf("pod %s: %w", pod.Name, errs.ToAggregate())
	}
	if field, kind := reference(pod); field != "" {
		return nil, fmt.Errorf("pod %s: %s: static pods may not reference %s", pod.Name, field, kind)
	}
	return pod, nil
}

// complete sets the fields that the node decides.
func complete(pod *corev1.Pod, node, hash string) {
	pod.UID, pod.Name, pod.Spec.NodeName = types.UID(hash), pod.Name+"-"+strings.ToLower(node), node
	pod.GenerateName, pod.ResourceVersion, pod.DeletionTimestamp, pod.OwnerReferences, pod.ManagedFields = "", "", nil, nil, nil
	pod.CreationTimestamp = metav1.Time{}
	if pod.Namespace == "" {
		pod.Namespace = metav1.NamespaceDefault
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[ConfigHash], pod.Annotations[ConfigSource], pod.Annotations[corev1.MirrorPodAnnotationKey] = hash, "file", hash
	all := corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}
	if !slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool { return t.MatchToleration(&all) }) {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, all)
	}
	if value, ok := builtinPriorities[pod.Spec.PriorityClassName]; ok && pod.Spec.Priority == nil {
		pod.Spec.Priority = &value
	}
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
}
