"""Speaks to `tramline lsp` with a client that checks every message against the protocol's types."""

import os
import pathlib

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient

FILE = pathlib.Path.cwd() / "flow.yaml"
URI = FILE.as_uri()


@pytest_lsp.fixture(config=ClientServerConfig(server_command=[os.environ["TRAMLINE"], "lsp"]))
async def client(lsp_client: LanguageClient):
    params = types.InitializeParams(capabilities=pytest_lsp.client_capabilities("visual-studio-code"))
    await lsp_client.initialize_session(params)
    yield
    await lsp_client.shutdown_session()


def place(text: str, word: str) -> types.Position:
    before = text[: text.index(word)]
    line = before.rsplit("\n", 1)[-1]
    return types.Position(before.count("\n"), len(line.encode("utf-16-le")) // 2)


async def opened(client: LanguageClient, text: str) -> list[types.Diagnostic]:
    item = types.TextDocumentItem(uri=URI, language_id="yaml", version=1, text=text)
    client.text_document_did_open(types.DidOpenTextDocumentParams(item))
    await client.wait_for_notification("textDocument/publishDiagnostics")
    return list(client.diagnostics[URI])


@pytest.mark.asyncio
async def test_flaws(client: LanguageClient):
    flaws = await opened(client, FILE.read_text().replace("next: shape", "next: shap"))
    assert any("shape" in flaw.message for flaw in flaws), flaws
    assert {flaw.source for flaw in flaws} == {"tramline"}


@pytest.mark.asyncio
async def test_requests(client: LanguageClient):
    text = FILE.read_text()
    assert await opened(client, text) == []
    document = types.TextDocumentIdentifier(URI)
    at = place(text, "shape")
    found = await client.text_document_completion_async(types.CompletionParams(document, at))
    assert "shape" in [item.label for item in found]
    hover = await client.text_document_hover_async(types.HoverParams(document, at))
    assert "leads to `out`" in hover.contents.value
    where = await client.text_document_definition_async(types.DefinitionParams(document, at))
    assert where.range.start == place(text, "shape\n        type")
    asked = await client.text_document_prepare_rename_async(types.PrepareRenameParams(document, at))
    assert asked.placeholder == "shape"
    edit = await client.text_document_rename_async(types.RenameParams(document, at, "form"))
    assert len(edit.changes[URI]) == 2
