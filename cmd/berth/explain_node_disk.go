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

// explainNodeDisk requests from the node's agent, through the API server, what uses the node's
// disks.
func explainNodeDisk(ctx context.Context, w io.Writer, source objectSource, node string, output *cli.Output, all bool) error {
	if len(source.dumps) > 0 {
		return fmt.Errorf("explain node %s --disk: -f %s: a dump has no disk usage; remove -f", node, source.dumps[0])
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
		// The API server answers with a Status object, the agent with plain text.
		if message := strings.TrimSpace(string(data)); message != "" && !strings.HasPrefix(message, "{") {
			err = errors.New(message)
		}
		return fmt.Errorf("node %s: requesting disk usage: %w", node, err)
	}
	var report disk.Report
	if err := json.Unmarshal(data, &report); err != nil {
		return fmt.Errorf("node %s: decoding disk usage: %w", node, err)
	}
	return output.Print(w, cli.Printable{Object: report, Text: func(w io.Writer, _ bool) error { return report.Text(w, all) }})
}
