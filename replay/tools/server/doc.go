// Package server is the client of the MCP servers that fixtures name: one that it starts
// for an episode and speaks with over stdin and stdout, or one that runs already and
// speaks streamable HTTP.
package server
