package podvalidation

import (
	"testing"
)

func TestContainerResourcesAreValidated(t *testing.T) {
	checkCases(t, []validationCase{
		{"an extended resource cannot be overcommitted",
			`spec: {containers: [{name: c, image: x, resources: {requests: {a.b/gpu: 1}, limits: {a.b/gpu: 2}}}]}`,
			[]string{`spec.containers[0].resources.requests: Invalid value: "1": must be equal to a.b/gpu limit of 2`}},
		{"a huge page request is a multiple of the page size",
			`spec: {containers: [{name: c, image: x, resources: {limits: {cpu: 1, hugepages-2Mi: 3Mi}}}]}`,
			[]string{`spec.containers[0].resources.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi`,
				`spec.containers[0].resources.requests[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi`}},
		{"a page size is not parsed if that takes long",
			`spec: {containers: [{name: c, image: x, resources: {requests: {cpu: 1, hugepages-1e99: 1}, limits: {hugepages-1e99: 1}}}]}`,
			[]string{`spec.containers[0].resources.limits[hugepages-1e99]: Invalid value: "1": page size of hugepages-1e99: quantity "1e99": the exponent must be from -64 to 64`,
				`spec.containers[0].resources.requests[hugepages-1e99]: Invalid value: "1": page size of hugepages-1e99: quantity "1e99": the exponent must be from -64 to 64`}},
		{"a container cannot request pods", `spec: {containers: [{name: c, image: x, resources: {requests: {pods: 1}}}]}`,
			[]string{`spec.containers[0].resources.requests[pods]: Invalid value: "pods": must be a standard resource for containers`}},
		{"a container's claim must be one of the pod's", `spec: {resourceClaims: [{name: a, resourceClaimName: x}], containers: [{name: c, image: x, resources: {claims: [{name: b}]}}]}`,
			[]string{`spec.containers[0].resources.claims[0]: Not found: "b": must be one of the names in pod.spec.resourceClaims: a`}},
		{"a claim is used as a whole or by requests", `spec: {resourceClaims: [{name: a, resourceClaimName: x}], containers: [{name: c, image: x, resources: {claims: [{name: a, request: r}, {name: a, request: s}, {name: a}]}}]}`,
			[]string{`spec.containers[0].resources.claims[2]: Duplicate value: "a"`}},
		{"claim names are unique", `spec: {resourceClaims: [{name: a, resourceClaimName: x}, {name: a, resourceClaimName: z}]}`,
			[]string{`spec.resourceClaims[1].name: Duplicate value: "a"`}},
		{"a pod that never restarts resizes without restarts",
			`spec: {restartPolicy: Never, containers: [{name: c, image: x, resizePolicy: [{resourceName: cpu, restartPolicy: RestartContainer}]}]}`,
			[]string{"spec.containers[0].resizePolicy: Invalid value: \"RestartContainer\": must be 'NotRequired' when `restartPolicy` is 'Never'"}},
	})
}

func TestPodLevelResourcesAreValidated(t *testing.T) {
	checkCases(t, []validationCase{
		{"a container's limit must not exceed the pod's",
			`spec: {resources: {limits: {cpu: 1}}, containers: [{name: c, image: x, resources: {requests: {cpu: 1}, limits: {cpu: 2}}}]}`,
			[]string{`spec.resources.containers[0][cpu].limits: Invalid value: "2": must be less than or equal to pod limits of 1`}},
		{"the sum of container limits may exceed the pod's limit",
			`spec: {resources: {limits: {cpu: 2}}, containers: [{name: c, image: x, resources: {requests: {cpu: 1}, limits: {cpu: 2}}}, {name: d, image: x, resources: {requests: {cpu: 1}, limits: {cpu: 2}}}]}`, nil},
		{"a pod-level request cannot be for ephemeral storage", `spec: {resources: {requests: {ephemeral-storage: 1Gi}}}`,
			[]string{`spec.resources.requests[ephemeral-storage]: Unsupported value: "ephemeral-storage": supported values: "cpu", "hugepages-", "memory"`}},
	})
}
