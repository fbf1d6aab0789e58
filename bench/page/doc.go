// Command page measures the web page with many nodes and pods. It measures the time until the map is drawn, and the
// frame rate while the map is moved. It also measures the CPU time of the page's server while pods change.
//
// A fake API server runs in another process. It encodes its lists in advance, so the figures are those of the
// page. The command requires Node.js, the npm packages of ui/web, and Chromium.
package main
