package v1alpha1

// AgentURLAnnotation of a Node is the URL of its agent, for nodes whose address and port do not lead there:
// simulated nodes have invented addresses, and one process serves many of them. The value is https://HOST:PORT,
// or https://HOST:PORT/nodes/NAME for an agent that runs as system:berth:simulated-nodes.
const AgentURLAnnotation = "berth.dev/agent-url"
