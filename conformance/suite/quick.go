package main

import "slices"

// quickBatch is the name of a batch with a few specs of each SIG, for continuous integration.
const quickBatch = "quick"

// quickSpecs are the specs of quickBatch. Each takes a few seconds and may run at the same time as other specs.
var quickSpecs = []string{
	"[sig-api-machinery] AdmissionWebhook [Privileged:ClusterAdmin] should mutate custom resource [Conformance]",
	"[sig-api-machinery] CustomResourceDefinition resources [Privileged:ClusterAdmin] Simple CustomResourceDefinition listing custom resource definition objects works [Conformance]",
	"[sig-api-machinery] ResourceQuota should create a ResourceQuota and capture the life of a pod. [Conformance]",
	"[sig-api-machinery] ValidatingAdmissionPolicy [Privileged:ClusterAdmin] should validate against a Deployment [Conformance]",
	"[sig-apps] Deployment should run the lifecycle of a Deployment [Conformance]",
	"[sig-apps] DisruptionController should block an eviction until the PDB is updated to allow it [Conformance]",
	"[sig-apps] Job should manage the lifecycle of a job [Conformance]",
	"[sig-architecture] Conformance Tests should have at least two untainted nodes [Conformance]",
	"[sig-auth] ServiceAccounts should mount an API token into pods [Conformance]",
	"[sig-cli] Kubectl client Kubectl run pod should create a pod from an image when restart is Never [Conformance]",
	"[sig-instrumentation] Events should manage the lifecycle of an event [Conformance]",
	"[sig-network] DNS should provide DNS for the cluster [Conformance]",
	"[sig-network] Services should serve a basic endpoint from pods [Conformance]",
	"[sig-node] Container Lifecycle Hook when create a pod with lifecycle hook should execute prestop exec hook properly [NodeConformance] [Conformance]",
	"[sig-node] InitContainer [NodeConformance] should invoke init containers on a RestartNever pod [Conformance]",
	"[sig-node] Pods should be submitted and removed [NodeConformance] [Conformance]",
	"[sig-scheduling] LimitRange should create a LimitRange with defaults and ensure pod has those defaults applied. [Conformance]",
	"[sig-storage] EmptyDir volumes should support (non-root,0644,default) [LinuxOnly] [NodeConformance] [Conformance]",
	"[sig-storage] Projected combined should project all components that make up the projection API [Projection] [NodeConformance] [Conformance]",
	"[sig-storage] Subpath Atomic writer volumes should support subpaths with secret pod [Conformance]",
}

// selectQuick returns quickBatch with those specs that are selected.
func selectQuick(specs []string) batch {
	return batch{quickBatch, slices.DeleteFunc(slices.Clone(quickSpecs), func(s string) bool { return !slices.Contains(specs, s) })}
}
