package script

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// weight is the weight of preferred affinity terms.
const weight = 50

func (l *podLine) affinity() *corev1.Affinity {
	l.Spec.Affinity = cmp.Or(l.Spec.Affinity, &corev1.Affinity{})
	return l.Spec.Affinity
}

func (l *podLine) podAffinity() *corev1.PodAffinity {
	a := l.affinity()
	a.PodAffinity = cmp.Or(a.PodAffinity, &corev1.PodAffinity{})
	return a.PodAffinity
}

func (l *podLine) podAntiAffinity() *corev1.PodAntiAffinity {
	a := l.affinity()
	a.PodAntiAffinity = cmp.Or(a.PodAntiAffinity, &corev1.PodAntiAffinity{})
	return a.PodAntiAffinity
}

// topologyKey returns the node label for KEY: a label, or "host".
func topologyKey(key string) string {
	if key == "host" {
		return corev1.LabelHostname
	}
	return key
}

// affinityTerm reads KEY:a=b.
func (v value) affinityTerm() corev1.PodAffinityTerm {
	key, match, _ := strings.Cut(v.text, ":")
	m, err := parseLabels(match)
	if err != nil || key == "" {
		v.invalid("KEY:a=b, such as zone:app=web or host:app=web")
	}
	return corev1.PodAffinityTerm{TopologyKey: topologyKey(key), LabelSelector: &metav1.LabelSelector{MatchLabels: m}}
}

// preferredNodes reads the labels of preferred nodes.
func (v value) preferredNodes() (out []corev1.PreferredSchedulingTerm) {
	m := v.labels()
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, corev1.PreferredSchedulingTerm{Weight: weight, Preference: labelTerm(k, m[k])})
	}
	return out
}

// spreadConstraints reads KEY:SKEW:a=b or KEY:SKEW:soft:a=b.
func (v value) spreadConstraints() []corev1.TopologySpreadConstraint {
	c := corev1.TopologySpreadConstraint{WhenUnsatisfiable: corev1.DoNotSchedule}
	parts := strings.Split(v.text, ":")
	if len(parts) == 4 && parts[2] == "soft" {
		c.WhenUnsatisfiable = corev1.ScheduleAnyway
		parts = append(parts[:2], parts[3])
	}
	const want = "KEY:SKEW:a=b or KEY:SKEW:soft:a=b, such as zone:1:app=web"
	if len(parts) != 3 || parts[0] == "" {
		v.invalid(want)
		return nil
	}
	skew, err := strconv.ParseInt(parts[1], 10, 32)
	if err != nil || skew < 1 {
		v.invalid(want)
	}
	m, err := parseLabels(parts[2])
	if err != nil {
		v.invalid(fmt.Sprintf("%s (%v)", want, err))
	}
	c.TopologyKey, c.MaxSkew, c.LabelSelector = topologyKey(parts[0]), int32(skew), &metav1.LabelSelector{MatchLabels: m}
	return []corev1.TopologySpreadConstraint{c}
}
