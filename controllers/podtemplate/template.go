package podtemplate

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
)

// HashLabel is the label that distinguishes the ReplicaSets of a Deployment.
const HashLabel = appsv1.DefaultDeploymentUniqueLabelKey

// maxPrefixLen leaves room for five random characters in a name of 63.
const maxPrefixLen = 63 - 5

// Pod returns a pod of a template, with an owner and without a name.
func Pod(t *corev1.PodTemplateSpec, namespace string, owner metav1.OwnerReference) *corev1.Pod {
	t = t.DeepCopy()
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Labels: t.Labels, Annotations: t.Annotations,
			Finalizers: slices.Clone(t.Finalizers), OwnerReferences: []metav1.OwnerReference{owner},
		},
		Spec: t.Spec,
	}
}

// NamePrefix returns the prefix of the names of an owner's pods.
func NamePrefix(owner string) string {
	prefix := owner + "-"
	return prefix[:min(len(prefix), maxPrefixLen)]
}

// Equal reports whether two templates are equal apart from the hash label.
func Equal(a, b *corev1.PodTemplateSpec) bool {
	return equality.Semantic.DeepEqual(withoutHash(a), withoutHash(b))
}

func withoutHash(t *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	if _, ok := t.Labels[HashLabel]; !ok {
		return t
	}
	out := *t
	out.Labels = maps.Clone(t.Labels)
	delete(out.Labels, HashLabel)
	return &out
}

// Hash returns a hash of a template, which is valid as a label value. collisions, which may be nil, changes the hash.
func Hash(t *corev1.PodTemplateSpec, collisions *int32) string {
	h := fnv.New32a()
	data, err := json.Marshal(withoutHash(t))
	if err != nil {
		data = fmt.Append(nil, t.Spec) // unreachable: API types can be encoded
	}
	h.Write(data)
	if collisions != nil {
		var b [8]byte
		binary.LittleEndian.PutUint32(b[:], uint32(*collisions))
		h.Write(b[:])
	}
	return rand.SafeEncodeString(fmt.Sprint(h.Sum32()))
}

// WithLabel returns a copy of a selector that requires one more label.
func WithLabel(s *metav1.LabelSelector, key, value string) *metav1.LabelSelector {
	out := s.DeepCopy()
	if out.MatchLabels == nil {
		out.MatchLabels = map[string]string{}
	}
	out.MatchLabels[key] = value
	return out
}
