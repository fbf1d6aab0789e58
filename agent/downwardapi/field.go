package downwardapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Field returns the value of the fieldRef path. For addresses the pod's status must be set.
func Field(pod *corev1.Pod, path string) (string, error) {
	switch path {
	case "metadata.name":
		return pod.Name, nil
	case "metadata.namespace":
		return pod.Namespace, nil
	case "metadata.uid":
		return string(pod.UID), nil
	case "metadata.labels":
		return formatMap(pod.Labels), nil
	case "metadata.annotations":
		return formatMap(pod.Annotations), nil
	case "spec.nodeName":
		return pod.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName, nil
	case "status.hostIP":
		return pod.Status.HostIP, nil
	case "status.podIP":
		return pod.Status.PodIP, nil
	case "status.hostIPs":
		return joinIPs(pod.Status.HostIPs, func(a corev1.HostIP) string { return a.IP }), nil
	case "status.podIPs":
		return joinIPs(pod.Status.PodIPs, func(a corev1.PodIP) string { return a.IP }), nil
	}
	if field, key, ok := splitSubscript(path); ok {
		switch field {
		case "metadata.labels":
			return pod.Labels[key], nil
		case "metadata.annotations":
			return pod.Annotations[key], nil
		}
	}
	return "", fmt.Errorf("fieldRef.fieldPath %q: unsupported; use metadata.name, .namespace, .uid, .labels['KEY'], .annotations['KEY'], "+
		"spec.nodeName, spec.serviceAccountName, status.hostIP, .hostIPs, .podIP or .podIPs", path)
}

// splitSubscript splits a path of the form FIELD['KEY'].
func splitSubscript(path string) (field, key string, ok bool) {
	field, rest, found := strings.Cut(path, "['")
	key, closed := strings.CutSuffix(rest, "']")
	return field, key, found && closed
}

func formatMap(m map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, fmt.Sprintf("%s=%q", k, m[k]))
	}
	return strings.Join(out, "\n")
}

func joinIPs[T any](items []T, ip func(T) string) string {
	var out []string
	for _, a := range items {
		out = append(out, ip(a))
	}
	return strings.Join(out, ",")
}
