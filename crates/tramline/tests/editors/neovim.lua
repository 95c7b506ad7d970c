-- Opens flow.yaml in Neovim with `tramline lsp`, and tries what a person would: diagnostics,
-- completion, hover, go to node, rename. Works with Neovim 0.7 and later.
local function fail(message)
  io.stderr:write(message .. "\n")
  vim.cmd("cquit 1")
end

local function try()
  vim.cmd("edit flow.yaml")
  local buffer = vim.api.nvim_get_current_buf()
  local client = vim.lsp.start_client({
    name = "tramline",
    cmd = { os.getenv("TRAMLINE"), "lsp" },
    root_dir = vim.fn.getcwd(),
  })
  assert(client, "the server did not start")
  assert(vim.wait(20000, function()
    local started = vim.lsp.get_client_by_id(client)
    return started ~= nil and started.initialized == true
  end), "the server did not initialize")
  vim.lsp.buf_attach_client(buffer, client)

  local function flaws()
    return vim.diagnostic.get(buffer)
  end
  local function line_of(text)
    return vim.fn.search(text, "cnw")
  end
  local function set(number, text)
    vim.api.nvim_buf_set_lines(buffer, number - 1, number, true, { text })
  end
  local function ask(method, number, column, more)
    local params = {
      textDocument = vim.lsp.util.make_text_document_params(buffer),
      position = { line = number - 1, character = column },
    }
    params = vim.tbl_extend("force", params, more or {})
    local answers = vim.lsp.buf_request_sync(buffer, method, params, 20000)
    assert(answers and answers[client] and not answers[client].err, method .. " failed")
    return answers[client].result
  end

  local number = line_of("next: shape")
  set(number, "        next: shap")
  assert(vim.wait(20000, function() return #flaws() > 0 end), "no flaw was shown")
  assert(flaws()[1].source == "tramline", vim.inspect(flaws()))
  set(number, "        next: ")
  local labels = {}
  for _, item in ipairs(ask("textDocument/completion", number, 14)) do
    labels[item.label] = true
  end
  assert(labels.shape and labels.out, "nodes are not completed: " .. vim.inspect(labels))
  set(number, "        next: shape")
  assert(vim.wait(20000, function() return #flaws() == 0 end), vim.inspect(flaws()))
  local hover = ask("textDocument/hover", number, 15)
  assert(hover.contents.value:find("leads to `out`", 1, true), vim.inspect(hover))
  local place = ask("textDocument/definition", number, 15)
  assert(place.range.start.line + 1 == line_of("id: shape"), vim.inspect(place))
  local edit = ask("textDocument/rename", number, 15, { newName = "form" })
  vim.lsp.util.apply_workspace_edit(edit, "utf-16")
  assert(line_of("id: form") > 0 and line_of("next: form") > 0 and line_of("shape") == 0)
  vim.lsp.stop_client(client)
end

local good, message = pcall(try)
if not good then
  fail(tostring(message))
end
vim.cmd("qall!")
