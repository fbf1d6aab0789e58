package simulated

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/nodepressure/usage"
)

// maxShownValue is the maximum length of a value in messages, in bytes.
const maxShownValue = 80

// InvalidAnnotations returns a message for each invalid annotation of a simulated pod: the
// accepted values and the effect. The messages are sorted by key.
func InvalidAnnotations(pod *corev1.Pod) (messages []string) {
	for _, key := range slices.Sorted(maps.Keys(pod.Annotations)) {
		value := pod.Annotations[key]
		container, name, ok := strings.Cut(key, "sim.berth.dev/")
		if !ok || container != "" && !hasContainer(pod, strings.TrimSuffix(container, ".")) {
			continue
		}
		requirement := ""
		switch "sim.berth.dev/" + name {
		case RunSeconds:
			if _, ok := parseSeconds(value); !ok {
				requirement = "must be a number of seconds, for example 30 or 0.5; until then its containers fail with exit code 128"
			}
		case ExitCode:
			if _, err := strconv.ParseUint(value, 10, 8); err != nil {
				requirement = "must be a number from 0 to 255, for example 1; until then its containers fail with exit code 128"
			}
		case StartSeconds, StopSeconds, PreStopSeconds:
			if _, ok := parseSeconds(value); !ok {
				requirement = "must be a number of seconds, for example 5 or 0.5; ignored"
			}
		case usage.Annotation:
			if _, err := usage.ParsePod(value); err != nil {
				requirement = truncate(strings.TrimPrefix(err.Error(), usage.Annotation+": "), 3*maxShownValue) + "; ignored; example: memory=100Mi,500Mi@60s;disk=1Gi"
			}
		}
		if requirement != "" {
			messages = append(messages, fmt.Sprintf("%s: %q: %s", key, truncate(value, maxShownValue), requirement))
		}
	}
	return messages
}

func truncate(text string, limit int) string {
	if len(text) > limit {
		return strings.ToValidUTF8(text[:limit], "") + "..."
	}
	return text
}

func hasContainer(pod *corev1.Pod, name string) bool {
	return slices.ContainsFunc(slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers), func(c corev1.Container) bool { return c.Name == name })
}
