package v1alpha1

// AgentURLAnnotation of a Node says where its agent answers, where the node's own
// address and port do not: simulated nodes have made-up addresses, and one process
// answers for many. The value is https://HOST:PORT, or https://HOST:PORT/nodes/NAME
// of an agent that runs as system:berth:simulated-nodes.
const AgentURLAnnotation = "berth.dev/agent-url"
