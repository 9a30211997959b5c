#!/usr/bin/env python3
"""`mfuplan mcp` as an assistant uses it: run.py PROGRAM DATA_DIR

Every tool that is listed can be called; a call's answer is the command's; nothing of one call is left to the next;
what is wrong is said, and the conversation goes on."""
import json
import subprocess
import sys

program, data = sys.argv[1:3]
server = subprocess.Popen([program, "--data-dir", data, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def send(text):
    server.stdin.write(text + "\n")
    server.stdin.flush()


def ask(method, id_=1, **params):
    send(json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}))
    reply = json.loads(server.stdout.readline())
    assert reply["jsonrpc"] == "2.0" and reply["id"] == id_, reply
    return reply


def call(tool, words=None, **scenario):
    arguments = dict(scenario, **({"words": words} if words else {}))
    result = ask("tools/call", name=tool, arguments=arguments)["result"]
    text = result["content"][0]["text"]
    if result.get("isError"):
        return text
    assert json.loads(text) == result["structuredContent"], text
    return result["structuredContent"]


def command(line):
    out = subprocess.run([program, "--data-dir", data, "--json", "-e", line], check=True, capture_output=True, text=True)
    return json.loads(out.stdout.splitlines()[-1])


greeting = ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "t", "version": "1"})
assert greeting["result"]["serverInfo"]["name"] == "mfuplan" and "tools" in greeting["result"]["capabilities"]
send('{"jsonrpc": "2.0", "method": "notifications/initialized"}')   # is not answered
tools = ask("tools/list", id_="a")["result"]["tools"]
words = {"why": "mfu", "search": "maximize mfu over batch=1,2", "explain": "mfu"}
for tool in tools:
    assert tool["description"] and tool["inputSchema"]["type"] == "object"
    answer = call(tool["name"], words.get(tool["name"]))
    assert isinstance(answer, dict) and answer["schema"] == 1, (tool["name"], answer)

mine = call("plan", model="llama-3-8b", gpu="h100-sxm", settings={"batch": 2, "gpus": 8, "fsdp": True, "runtime": "compile"})
assert mine == command("gpu h100-sxm; model llama-3-8b; set batch 2 gpus 8 fsdp on runtime compile; plan")
assert call("plan") == command("plan")       # nothing is left of the call before
assert "batch" in call("plan", settings={"bach": 2})
assert "expected" in call("plan", settings={"batch": [1]})
assert "fits" not in str(call("memory", model="no-such-model"))
assert "programs" not in str(call("explain", "mfu | rm -rf /"))      # words are words, not a shell's
assert ask("nonsense")["error"]["code"] == -32601
assert ask("tools/call", name="rm")["error"]["code"] == -32602
for bad in ("nonsense", "[]", "{}", '{"jsonrpc": "2.0", "id": 1}', "\0", "{" * 5000):
    send(bad)
    assert "error" in json.loads(server.stdout.readline()), bad
assert ask("ping")["result"] == {}
server.stdin.close()
assert server.wait(10) == 0 and server.stdout.read() == ""
