package podvalidation

import (
	"testing"
)

const invalidNameReason = `name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`

func TestAffinityIsValidated(t *testing.T) {
	const required = "requiredDuringSchedulingIgnoredDuringExecution"
	node, pods := "spec: {affinity: {nodeAffinity: {"+required+": ", "spec: {affinity: {podAffinity: {"+required+": "
	nodePath, podPath := "spec.affinity.nodeAffinity."+required+".nodeSelectorTerms", "spec.affinity.podAffinity."+required
	checkCases(t, []validationCase{
		{"a node selector needs a term", node + `{nodeSelectorTerms: []}}}}`,
			[]string{nodePath + ": Required value: must have at least one node selector term"}},
		{"Exists has no values", node + `{nodeSelectorTerms: [{matchExpressions: [{key: k, operator: Exists, values: [v]}]}]}}}}`,
			[]string{nodePath + "[0].matchExpressions[0].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"}},
		{"the operator must be supported", node + `{nodeSelectorTerms: [{matchExpressions: [{key: k, operator: Like}]}]}}}}`,
			[]string{nodePath + `[0].matchExpressions[0].operator: Invalid value: "Like": not a valid selector operator`}},
		{"a preferred term may have invalid values",
			`spec: {affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: k, operator: In, values: ["a b"]}]}}]}}}`, nil},
		{"a topology key is required", pods + `[{labelSelector: {}}]}}}`,
			[]string{podPath + "[0].topologyKey: Required value: can not be empty",
				podPath + `[0].topologyKey: Invalid value: "": name part must be non-empty`,
				podPath + `[0].topologyKey: Invalid value: "": ` + invalidNameReason}},
		{"a key is matched or mismatched, not both", pods + `[{labelSelector: {}, topologyKey: z, matchLabelKeys: [a], mismatchLabelKeys: [a]}]}}}`,
			[]string{podPath + `[0].matchLabelKeys[0]: Invalid value: "a": exists in both matchLabelKeys and mismatchLabelKeys`}},
	})
}

func TestTopologySpreadConstraintsAreValidated(t *testing.T) {
	checkCases(t, []validationCase{
		{"whenUnsatisfiable is required", `spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, labelSelector: {}}]}`,
			[]string{`spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "": supported values: "DoNotSchedule", "ScheduleAnyway"`}},
		{"matchLabelKeys need a selector", `spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule, matchLabelKeys: [a]}]}`,
			[]string{`spec.topologySpreadConstraints[0].matchLabelKeys: Forbidden: must not be specified when labelSelector is not set`}},
		{"a key of the selector cannot be in matchLabelKeys", `{metadata: {labels: {a: b}}, spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {a: b}}, matchLabelKeys: [a]}]}}`,
			[]string{`spec.topologySpreadConstraints[0].matchLabelKeys[0]: Invalid value: "a": exists in both matchLabelKeys and labelSelector`}},
		{"minDomains is positive", `spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule, labelSelector: {}, minDomains: 0}]}`,
			[]string{`spec.topologySpreadConstraints[0].minDomains: Invalid value: 0: must be greater than zero`}},
	})
}

func TestTolerationsAndGatesAreValidated(t *testing.T) {
	checkCases(t, []validationCase{
		{"a toleration's effect must be supported", `spec: {tolerations: [{key: k, operator: Exists, effect: Never}]}`,
			[]string{`spec.tolerations[0].effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"`}},
		{"a toleration's key must be a label key", `spec: {tolerations: [{key: "a b", operator: Exists}]}`,
			[]string{`spec.tolerations[0].key: Invalid value: "a b": ` + invalidNameReason}},
		{"gate names are unique", `spec: {schedulingGates: [{name: a}, {name: a}]}`,
			[]string{`spec.schedulingGates[1]: Duplicate value: "a"`}},
	})
}
