package config

import (
	"sigs.k8s.io/yaml"
)

// defaultDescheduler are the eight strategies that all ran by default while the Kubernetes descheduler had a
// default (0.19 to 0.21), with the numbers of its examples. PodLifeTime is about pods that never started.
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

// DefaultDeschedulerPolicy is the policy without a file, as YAML.
func DefaultDeschedulerPolicy() string { return defaultDescheduler }

// DefaultDescheduler is the policy without a file: the eight strategies that the Kubernetes
// descheduler's own default enabled while it had one.
func DefaultDescheduler() Descheduler {
	js, err := yaml.YAMLToJSONStrict([]byte(defaultDescheduler))
	if err != nil {
		return Descheduler{} // cannot be: TestDefaultDescheduler
	}
	d, err := ReadDescheduler(Document{File: "the default policy", APIVersion: DeschedulerAPIVersion, Kind: DeschedulerKind, JSON: js}, DeschedulerReadOptions{})
	if err != nil {
		return Descheduler{}
	}
	return d
}
