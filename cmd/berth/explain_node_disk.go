package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/agent/disk"
	"github.com/berthproject/berth/internal/cli"
)

// explainNodeDisk asks the node's agent, through the API server, what holds its disks.
func explainNodeDisk(ctx context.Context, w io.Writer, source objectSource, node, output string, all bool) error {
	if len(source.dumps) > 0 {
		return fmt.Errorf("explain node %s --disk: -f %s: must not be given: only the node itself knows what holds its disks", node, source.dumps[0])
	}
	config, err := cli.ClientConfig(source.kubeconfig, "berth-explain")
	if err != nil {
		return err
	}
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	data, err := client.CoreV1().RESTClient().Get().Resource("nodes").Name(node).SubResource("proxy").Suffix("disk").DoRaw(ctx)
	if err != nil {
		// The API server answers with a Status, the agent in words.
		if words := strings.TrimSpace(string(data)); words != "" && !strings.HasPrefix(words, "{") {
			err = errors.New(words)
		}
		return fmt.Errorf("node %s: asking what holds its disks: %w", node, err)
	}
	var report disk.Report
	if err := json.Unmarshal(data, &report); err != nil {
		return fmt.Errorf("node %s: what its agent says of its disks: %w", node, err)
	}
	if output == "json" {
		return printJSON(w, func() ([]byte, error) { return json.MarshalIndent(report, "", "  ") })
	}
	return report.Text(w, all)
}
