package config

import (
	"sigs.k8s.io/yaml"
)

// defaultDescheduler is the former default policy of the Kubernetes descheduler (0.19 to
// 0.21), with the numbers of its examples. PodLifeTime is limited to pods that never
// started.
const defaultDescheduler = `apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: default
  pluginConfig:
  - name: RemovePodsViolatingNodeTaints
  - name: RemovePodsViolatingNodeAffinity
    args:
      nodeAffinityType:
      - requiredDuringSchedulingIgnoredDuringExecution
  - name: RemovePodsViolatingInterPodAntiAffinity
  - name: RemovePodsHavingTooManyRestarts
    args:
      podRestartThreshold: 100
      includingInitContainers: true
  - name: PodLifeTime
    args:
      maxPodLifeTimeSeconds: 604800
      states:
      - Pending
      - PodInitializing
  - name: RemoveDuplicates
  - name: RemovePodsViolatingTopologySpreadConstraint
  - name: LowNodeUtilization
    args:
      thresholds:
        cpu: 20
        memory: 20
        pods: 20
      targetThresholds:
        cpu: 50
        memory: 50
        pods: 50
  plugins:
    deschedule:
      enabled:
      - RemovePodsViolatingNodeTaints
      - RemovePodsViolatingNodeAffinity
      - RemovePodsViolatingInterPodAntiAffinity
      - RemovePodsHavingTooManyRestarts
      - PodLifeTime
    balance:
      enabled:
      - RemoveDuplicates
      - RemovePodsViolatingTopologySpreadConstraint
      - LowNodeUtilization
`

// DefaultDeschedulerPolicy returns the default policy as YAML.
func DefaultDeschedulerPolicy() string { return defaultDescheduler }

// DefaultDescheduler returns the default policy: the eight strategies of the Kubernetes
// descheduler's former default.
func DefaultDescheduler() Descheduler {
	js, err := yaml.YAMLToJSONStrict([]byte(defaultDescheduler))
	if err != nil {
		return Descheduler{} // unreachable, see TestDefaultDescheduler
	}
	d, err := ReadDescheduler(Document{File: "the default policy", APIVersion: DeschedulerAPIVersion, Kind: DeschedulerKind, JSON: js}, DeschedulerReadOptions{})
	if err != nil {
		return Descheduler{}
	}
	return d
}
