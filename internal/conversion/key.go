package conversion

import (
	"encoding/binary"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// key is a reusable buffer for the fields of a pod that convertPodSpec reads.
// A length precedes each string and list, so different pods have different bytes.
// A missing field is one zero byte.
type key struct {
	b     []byte
	names []string // scratch for the sorted keys of a map
}

// forPod writes the key of a pod. The result is valid until the next call.
func (k *key) forPod(pod *corev1.Pod, features []string) []byte {
	s := &pod.Spec
	k.b = k.b[:0]
	k.str(s.SchedulerName)
	if s.Priority != nil {
		k.num(int64(*s.Priority))
	} else {
		k.num(0)
	}
	k.flag(s.PreemptionPolicy != nil && *s.PreemptionPolicy == corev1.PreemptNever)
	k.strs(features)
	k.requests(pod)
	k.labels(s.NodeSelector)
	k.affinity(pod)
	k.spread(s.TopologySpreadConstraints)
	k.tolerations(s.Tolerations)
	k.volumes(pod)
	k.num(int64(len(s.SchedulingGates)))
	for i := range s.SchedulingGates {
		k.str(s.SchedulingGates[i].Name)
	}
	k.num(int64(len(s.ResourceClaims)))
	for i := range s.ResourceClaims {
		c := &s.ResourceClaims[i]
		k.str(c.Name)
		k.str(deref(c.ResourceClaimName))
		k.str(deref(c.ResourceClaimTemplateName))
		claim, decided := generatedClaim(pod, c)
		k.flag(decided && claim == nil && c.ResourceClaimName == nil)
		k.str(deref(claim))
	}
	if s.SchedulingGroup != nil {
		k.str(deref(s.SchedulingGroup.PodGroupName))
	} else {
		k.str("")
	}
	return k.b
}

// forLabels writes the key of labels. The result is valid until the next call.
func (k *key) forLabels(m map[string]string) []byte {
	k.b = k.b[:0]
	k.labels(m)
	return k.b
}

func (k *key) num(n int64) { k.b = binary.AppendVarint(k.b, n) }

func (k *key) str(s string) {
	k.b = binary.AppendUvarint(k.b, uint64(len(s)))
	k.b = append(k.b, s...)
}

func (k *key) strs(list []string) {
	k.num(int64(len(list)))
	for _, s := range list {
		k.str(s)
	}
}

func (k *key) flag(b bool) {
	if b {
		k.b = append(k.b, 1)
		return
	}
	k.b = append(k.b, 0)
}

func (k *key) labels(m map[string]string) {
	k.num(int64(len(m)))
	if len(m) == 0 {
		return
	}
	k.names = k.names[:0]
	for name := range m {
		k.names = append(k.names, name)
	}
	slices.Sort(k.names)
	for _, name := range k.names {
		k.str(name)
		k.str(m[name])
	}
}

// quantity writes a quantity by value, so that "1" and "1000m" are equal.
func (k *key) quantity(q resource.Quantity) {
	if n, ok := q.AsInt64(); ok {
		k.b = append(k.b, 'i')
		k.num(n)
		return
	}
	milli := q.MilliValue()
	if q.Cmp(*resource.NewMilliQuantity(milli, resource.DecimalSI)) == 0 {
		k.b = append(k.b, 'm')
		k.num(milli)
		return
	}
	k.b = append(k.b, 's')
	k.str(q.String())
}

func (k *key) resources(list corev1.ResourceList) {
	k.num(int64(len(list)))
	found := 0
	for tag, name := range [...]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		if q, ok := list[name]; ok {
			found++
			k.b = append(k.b, byte(tag))
			k.quantity(q)
		}
	}
	if found == len(list) {
		return
	}
	k.names = k.names[:0]
	for name := range list {
		switch name {
		case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		default:
			k.names = append(k.names, string(name))
		}
	}
	slices.Sort(k.names)
	for _, name := range k.names {
		k.b = append(k.b, 'n')
		k.str(name)
		k.quantity(list[corev1.ResourceName(name)])
	}
}

func (k *key) selector(s *metav1.LabelSelector) {
	k.flag(s != nil)
	if s == nil {
		return
	}
	k.labels(s.MatchLabels)
	k.num(int64(len(s.MatchExpressions)))
	for i := range s.MatchExpressions {
		e := &s.MatchExpressions[i]
		k.str(e.Key)
		k.str(string(e.Operator))
		k.strs(e.Values)
	}
}
