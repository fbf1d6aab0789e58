package localnodes

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/load"
)

// Flags selects the nodes to simulate.
type Flags struct {
	Count       int
	cpu, memory string
	File, Openb string
	SizeSet     bool // count, cpu or memory was set
}

// AddFlags defines the flags of simulated nodes.
func (f *Flags) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&f.cpu, "node-cpu", "8", "CPU of each simulated node")
	flags.StringVar(&f.memory, "node-memory", "16Gi", "memory of each simulated node")
	flags.StringVar(&f.File, "nodes-file", "", "YAML or JSON file with Node manifests to simulate")
}

// BuildNodes returns the selected nodes. name returns the name of the i-th of nodes with equal size, from 0.
func (f *Flags) BuildNodes(name func(i int) string) ([]*corev1.Node, error) {
	switch {
	case f.SizeSet && (f.File != "" || f.Openb != ""):
		return nil, errors.New("--nodes, --node-cpu and --node-memory: have no effect with --nodes-file or --openb-nodes")
	case f.File != "" && f.Openb != "":
		return nil, errors.New("--nodes-file and --openb-nodes: use only one of them")
	case f.File != "":
		nodes, err := readNodes(f.File)
		return nodes, config.NameFlag(err, "--nodes-file", f.File)
	case f.Openb != "":
		nodes, err := load.ReadNodes(f.Openb)
		return nodes, config.NameFlag(err, "--openb-nodes", f.Openb)
	case f.Count < 0 || f.Count > 20000:
		return nil, fmt.Errorf("--nodes %d: must be between 0 and 20000", f.Count)
	}
	cpu, err := ParsePositiveQuantity("--node-cpu", f.cpu, "8")
	if err != nil {
		return nil, err
	}
	memory, err := ParsePositiveQuantity("--node-memory", f.memory, "16Gi")
	if err != nil {
		return nil, err
	}
	var out []*corev1.Node
	for i := range f.Count {
		out = append(out, agent.NewNode(name(i), cpu, memory))
	}
	return out, nil
}

// ParsePositiveQuantity parses the value of a flag; the error shows the example.
func ParsePositiveQuantity(flag, value, example string) (resource.Quantity, error) {
	q, err := resource.ParseQuantity(value)
	if err != nil || q.Sign() <= 0 {
		return q, fmt.Errorf("%s %q: must be a quantity above 0, such as %s", flag, value, example)
	}
	return q, nil
}

// readNodes reads Node manifests: documents or Lists.
func readNodes(file string) ([]*corev1.Node, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var out []*corev1.Node
	if err := config.SplitDocuments(file, data, func(doc []byte) error {
		nodes, err := decodeNodes(doc)
		out = append(out, nodes...)
		return err
	}); err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: contains no Node", file)
	}
	return out, nil
}

func decodeNodes(doc []byte) ([]*corev1.Node, error) {
	var kind metav1.TypeMeta
	if err := yaml.Unmarshal(doc, &kind); err != nil {
		return nil, err
	}
	switch {
	case kind == metav1.TypeMeta{}: // only comments
		return nil, nil
	case kind.APIVersion == "v1" && (kind.Kind == "NodeList" || kind.Kind == "List"):
		var list corev1.NodeList
		if err := yaml.UnmarshalStrict(doc, &list); err != nil {
			return nil, err
		}
		var out []*corev1.Node
		for i := range list.Items {
			n, err := validateNode(&list.Items[i], true)
			if err != nil {
				return nil, fmt.Errorf("items[%d]: %w", i, err)
			}
			out = append(out, n)
		}
		return out, nil
	}
	var node corev1.Node
	// Report a wrong kind before its unknown fields.
	if kind.Kind == "Node" {
		if err := yaml.UnmarshalStrict(doc, &node); err != nil {
			return nil, err
		}
	}
	node.TypeMeta = kind
	n, err := validateNode(&node, false)
	return []*corev1.Node{n}, err
}

// validateNode validates a manifest and returns it as stripNode does. Items of a NodeList need no apiVersion and kind.
func validateNode(node *corev1.Node, listed bool) (*corev1.Node, error) {
	if untypedItem := listed && node.Kind == "" && node.APIVersion == ""; !untypedItem && (node.Kind != "Node" || node.APIVersion != "v1") {
		return nil, fmt.Errorf("apiVersion %q, kind %q: must be v1 Node", node.APIVersion, node.Kind)
	}
	if problems := validation.IsDNS1123Subdomain(node.Name); len(problems) > 0 {
		return nil, fmt.Errorf("metadata.name: %q: %s", node.Name, problems[0])
	}
	return stripNode(node), nil
}

// stripNode returns a node without its identity and without the status, except for resources and images. So a dump of a
// cluster can be simulated.
func stripNode(n *corev1.Node) *corev1.Node {
	out := &corev1.Node{}
	out.Name, out.Labels, out.Annotations = n.Name, n.Labels, n.Annotations
	out.Spec = n.Spec
	out.Spec.ProviderID, out.Spec.ConfigSource = "", nil
	out.Status.Capacity, out.Status.Allocatable, out.Status.Images = n.Status.Capacity, n.Status.Allocatable, n.Status.Images
	return out
}
