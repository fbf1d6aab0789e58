package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/berthproject/berth/internal/cli"
	"github.com/berthproject/berth/internal/config"
)

type debugEndpoint struct {
	url, token, tokenFile, ca string
	insecure                  bool
}

func (d *debugEndpoint) addFlags(f *pflag.FlagSet) {
	f.StringVar(&d.url, "scheduler", "", "https://HOST:PORT of Berth's scheduler (its --metrics-bind-address), to query it instead of the API server")
	f.StringVar(&d.token, "token", "", "bearer token for --scheduler, with permission to get /debug/queue")
	f.StringVar(&d.tokenFile, "token-file", "", "`file` with the bearer token")
	f.StringVar(&d.ca, "certificate-authority", "", "PEM `file` of the CA of the scheduler's certificate")
	f.BoolVar(&d.insecure, "insecure-skip-tls-verify", false, "do not verify the scheduler's certificate")
}

// printQueue prints the queue as the scheduler's debug endpoint returns it.
func (d *debugEndpoint) printQueue(ctx context.Context, w io.Writer, output *cli.Output) error {
	if err := output.Only("--scheduler", cli.OutputText, cli.OutputName, cli.OutputJSON, cli.OutputYAML); err != nil {
		return err
	}
	target, err := url.Parse(d.url)
	if err != nil || target.Scheme != "https" || target.Host == "" {
		return fmt.Errorf("--scheduler %q: must be https://HOST:PORT", d.url)
	}
	client, token, err := d.newClient()
	if err != nil {
		return err
	}
	target = target.JoinPath("debug", "queue")
	target.RawQuery = "format=" + cli.OutputJSON
	if output.IsText() {
		target.RawQuery = "format=" + cli.OutputText
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return fmt.Errorf("--scheduler %q: %w", d.url, err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(req)
	if err != nil {
		var unknown x509.UnknownAuthorityError
		if errors.As(err, &unknown) {
			return fmt.Errorf("--scheduler %s: certificate signed by unknown authority: set --certificate-authority or --insecure-skip-tls-verify: %w", d.url, err)
		}
		return fmt.Errorf("--scheduler %s: %w", d.url, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("--scheduler %s: %w", d.url, err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("--scheduler %s: %s: %s", target.Redacted(), resp.Status, bytes.TrimSpace(body))
	}
	var queue struct {
		Pods []struct{ Pod string }
	}
	out := cli.Printable{Object: json.RawMessage(body), Kind: "Pod", Text: func(w io.Writer, _ bool) error {
		_, err := fmt.Fprintf(w, "%s\n", bytes.TrimSuffix(body, []byte("\n")))
		return err
	}}
	if !output.IsText() {
		if err := json.Unmarshal(body, &queue); err != nil {
			return fmt.Errorf("--scheduler %s: decoding the queue: %w", target.Redacted(), err)
		}
	}
	for _, p := range queue.Pods {
		out.Names = append(out.Names, p.Pod)
	}
	return output.Print(w, out)
}

func (d *debugEndpoint) newClient() (*http.Client, string, error) {
	tlsConfig := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: d.insecure} //nolint:gosec // set by a flag
	if d.ca != "" {
		pem, err := os.ReadFile(d.ca)
		if err != nil {
			return nil, "", config.NameFlag(err, "--certificate-authority", d.ca)
		}
		tlsConfig.RootCAs = x509.NewCertPool()
		if !tlsConfig.RootCAs.AppendCertsFromPEM(pem) {
			return nil, "", fmt.Errorf("--certificate-authority %s: contains no PEM certificate", d.ca)
		}
	}
	token := d.token
	if d.tokenFile != "" {
		if token != "" {
			return nil, "", errors.New("--token and --token-file: use only one of them")
		}
		data, err := os.ReadFile(d.tokenFile)
		if err != nil {
			return nil, "", config.NameFlag(err, "--token-file", d.tokenFile)
		}
		token = strings.TrimSpace(string(data))
	}
	return &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{TLSClientConfig: tlsConfig, Proxy: http.ProxyFromEnvironment}}, token, nil
}
