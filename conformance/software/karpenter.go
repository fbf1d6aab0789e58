package main

// karpenter is installed with the chart of its kwok provider, which creates Node objects. Berth simulates these nodes.
var karpenter = software{
	name: "Karpenter", job: "nodes are provisioned and consolidated",
	module: "sigs.k8s.io/karpenter", version: "v1.8.0", sum: "h1:AmTHUPtnuL8IX9mbcD3NOohyk62idrBCBtM+8Wn6Jvk=",
	programs: []program{{
		name: "karpenter", pkg: "./kwok", image: "registry.k8s.io/karpenter/kwok:v1.8.0", path: "/ko-app/kwok", user: "65532:65532", workDir: "/",
	}},
	suites: []string{"pkg/apis/v1", "pkg/controllers/nodeclaim/lifecycle"},
	setup: []step{
		kubectl("the CustomResourceDefinitions are applied", "apply -f {source}/kwok/charts/crds -f {source}/kwok/apis/crds"),
		// The chart has no default for the image and for staticCapacity; the project's Makefile sets them.
		helm("the chart kwok/charts is installed", "upgrade --install karpenter {source}/kwok/charts --namespace kube-system --skip-crds "+
			"--set controller.image.repository=registry.k8s.io/karpenter/kwok --set controller.image.tag=v1.8.0 "+
			"--set controller.resources.requests.cpu=500m --set controller.resources.requests.memory=512Mi --set settings.featureGates.staticCapacity=false"),
		kubectl("the controller is available", "-n kube-system rollout status deployment/karpenter --timeout=300s"),
		kubectl("other pods are kept off the nodes that exist", "taint nodes --all CriticalAddonsOnly:NoSchedule"),
	},
	checks: []step{
		kubectl("all CustomResourceDefinitions are established", "wait --for=condition=Established crd --all --timeout=60s").
			prints(`nodepools\.karpenter\.sh condition met`),
		apply("a node pool is created", karpenterPool),
		kubectl("the node pool is ready", "get nodepool default -o jsonpath={.status.conditions[?(@.type=='Ready')].status}").prints("^True$"),
		apply("a Deployment of 8 replicas of 1 CPU is created", karpenterWorkload),
		kubectl("nodes are provisioned, and all pods run on them", "get deployment web -o jsonpath={.status.availableReplicas}").prints("^8$"),
		kubectl("all node claims are initialized", "get nodeclaims -o jsonpath={.items[*].status.conditions[?(@.type=='Initialized')].status}").prints("^True( True)*$"),
		kubectl("the Deployment is scaled to 1 replica", "scale deployment web --replicas=1"),
		kubectl("the nodes are consolidated to one with 2 CPUs or fewer", `get nodes -l karpenter.sh/nodepool -o jsonpath={.items[*].metadata.labels.karpenter\.kwok\.sh/instance-cpu}`).
			prints("^[12]$"),
		kubectl("the pod is available after it was moved", "get deployment web -o jsonpath={.status.availableReplicas}").prints("^1$"),
		kubectl("the Deployment is scaled to 0 replicas", "scale deployment web --replicas=0"),
		kubectl("the last node is removed", "get nodes -l karpenter.sh/nodepool").prints("No resources found"),
		kubectl("no node claim remains", "get nodeclaims").prints("No resources found"),
		kubectl("the node pool is deleted", "delete nodepool,kwoknodeclass --all --timeout=100s"),
		helm("the chart is uninstalled", "uninstall karpenter --namespace kube-system --wait"),
		kubectl("the CustomResourceDefinitions are deleted", "delete -f {source}/kwok/charts/crds -f {source}/kwok/apis/crds --timeout=100s"),
		kubectl("its API is no longer served", "get nodepools").mustFail(noResource),
	},
}

// helm returns a step that runs helm. The arguments are separated by spaces.
func helm(does, args string) step {
	s := kubectl(does, args)
	s.program = "helm"
	return s
}

const karpenterPool = `
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: default}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      requirements:
      - {key: kubernetes.io/arch, operator: In, values: [amd64]}
      - {key: kubernetes.io/os, operator: In, values: [linux]}
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
      nodeClassRef: {name: default, kind: KWOKNodeClass, group: karpenter.kwok.sh}
      expireAfter: 720h
  limits: {cpu: 1000}
  disruption: {consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 5s}
`

const karpenterWorkload = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 8
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: main, image: simulated, resources: {requests: {cpu: "1", memory: 256Mi}}}]
`
