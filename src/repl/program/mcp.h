/*
 * mcp.h - the planner as tools for assistants: the Model Context Protocol over standard
 * input and output (modelcontextprotocol.io, revision 2025-06-18: JSON-RPC 2.0, a message a
 * line).
 */
#ifndef MFU_MCP_H
#define MFU_MCP_H

#include "repl/session.h"

/* Answers messages until the input ends.  Each call of a tool begins at the start scenario
 * and leaves nothing behind; no program is started.  -1 with `err` when out of memory. */
int mfu_mcp_serve(struct mfu_session *, FILE *in, FILE *out, struct mfu_error *err);

#endif
