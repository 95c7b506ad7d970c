//! What the shop changes, and what it rejects.

use super::{ShopAnswer, SimulatedShop, text};
use serde_json::{Value as Json, json};

const REASONS: [&str; 2] = ["no longer needed", "ordered by mistake"];

fn check(holds: bool, says: &str) -> Result<(), String> {
    match holds {
        true => Ok(()),
        false => Err(says.to_owned()),
    }
}

fn amount(value: &Json) -> f64 {
    value.as_f64().unwrap_or_default()
}

fn cents(amount: f64) -> f64 {
    (amount * 100.0).round() / 100.0
}

/// The strings of a list.
fn list(given: &Json, key: &str) -> Result<Vec<String>, String> {
    let items = given[key].as_array();
    let items = items.ok_or_else(|| format!("`{key}` is missing"))?;
    let texts = items.iter().map(|it| it.as_str().map(str::to_owned));
    let texts: Option<Vec<String>> = texts.collect();
    texts.ok_or_else(|| format!("`{key}` is not a list of strings"))
}

impl SimulatedShop {
    pub(super) fn write(&mut self, tool: &str, given: &Json) -> ShopAnswer {
        match tool {
            "modify_user_address" => self.change_profile(given),
            "cancel_pending_order" => self.cancel(given),
            "modify_pending_order_address" => self.change_address(given),
            "modify_pending_order_payment" => self.change_payment(given),
            "modify_pending_order_items" => self.change_items(given),
            "return_delivered_order_items" => self.take_back(given),
            "exchange_delivered_order_items" => self.exchange(given),
            other => Err(format!("unknown tool {other}")),
        }
    }

    fn keep_order(&mut self, order: Json) -> ShopAnswer {
        let id = text(&order, "order_id")?.to_owned();
        self.orders.insert(id, order.clone());
        Ok(order)
    }

    /// The customer's payment method with this id.
    fn method(&self, order: &Json, id: &str) -> Result<Json, String> {
        let user = self.user(text(order, "user_id")?)?;
        let method = user["payment_methods"].get(id);
        method
            .cloned()
            .ok_or_else(|| "payment method not found".to_owned())
    }

    /// Adds to a gift card's balance.
    fn refund(&mut self, order: &Json, method: &str, sum: f64) -> Result<(), String> {
        let id = text(order, "user_id")?.to_owned();
        let mut user = self.user(&id)?.clone();
        let card = &mut user["payment_methods"][method];
        if card["source"] == "gift_card" {
            card["balance"] = json!(cents(amount(&card["balance"]) + sum));
            self.users.insert(id, user);
        }
        Ok(())
    }

    fn address(given: &Json) -> Json {
        let keys = ["address1", "address2", "city", "country", "state", "zip"];
        let pairs = keys
            .iter()
            .map(|key| ((*key).to_owned(), given[*key].clone()));
        Json::Object(pairs.collect())
    }

    fn change_profile(&mut self, given: &Json) -> ShopAnswer {
        let id = text(given, "user_id")?;
        let mut user = self.user(id)?.clone();
        user["address"] = Self::address(given);
        self.users.insert(id.to_owned(), user.clone());
        Ok(user)
    }

    fn pending(&self, given: &Json, is_untouched: bool) -> ShopAnswer {
        let order = self.order(text(given, "order_id")?)?.clone();
        let status = text(&order, "status")?;
        let fits = match is_untouched {
            true => status == "pending",
            false => status.contains("pending"),
        };
        check(fits, "the order is not pending")?;
        Ok(order)
    }

    fn delivered(&self, given: &Json) -> ShopAnswer {
        let order = self.order(text(given, "order_id")?)?.clone();
        check(order["status"] == "delivered", "the order is not delivered")?;
        Ok(order)
    }

    fn cancel(&mut self, given: &Json) -> ShopAnswer {
        let mut order = self.pending(given, true)?;
        let reason = text(given, "reason")?;
        check(REASONS.contains(&reason), "invalid reason")?;
        let payments = order["payment_history"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        for payment in &payments {
            let method = text(payment, "payment_method_id")?;
            self.refund(&order, method, amount(&payment["amount"]))?;
            let back = json!({
                "transaction_type": "refund", "amount": payment["amount"], "payment_method_id": method,
            });
            if let Some(history) = order["payment_history"].as_array_mut() {
                history.push(back);
            }
        }
        order["status"] = json!("cancelled");
        order["cancel_reason"] = json!(reason);
        self.keep_order(order)
    }

    fn change_address(&mut self, given: &Json) -> ShopAnswer {
        let mut order = self.pending(given, false)?;
        order["address"] = Self::address(given);
        self.keep_order(order)
    }

    fn change_payment(&mut self, given: &Json) -> ShopAnswer {
        let mut order = self.pending(given, false)?;
        let id = text(given, "payment_method_id")?;
        let method = self.method(&order, id)?;
        let history = order["payment_history"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let [payment] = history.as_slice() else {
            return Err("there should be exactly one payment for the order".to_owned());
        };
        let before = text(payment, "payment_method_id")?.to_owned();
        check(
            before != id,
            "the new payment method is the same as the old one",
        )?;
        let sum = amount(&payment["amount"]);
        if method["source"] == "gift_card" {
            check(
                amount(&method["balance"]) >= sum,
                "insufficient gift card balance",
            )?;
            self.refund(&order, id, -sum)?;
        }
        self.refund(&order, &before, sum)?;
        let entries = [
            json!({"transaction_type": "payment", "amount": sum, "payment_method_id": id}),
            json!({"transaction_type": "refund", "amount": sum, "payment_method_id": before}),
        ];
        if let Some(history) = order["payment_history"].as_array_mut() {
            history.extend(entries);
        }
        self.keep_order(order)
    }

    /// Whether an order has all of these items, each as often as it is named.
    fn has_items(order: &Json, items: &[String]) -> Result<(), String> {
        let held = order["items"].as_array().cloned().unwrap_or_default();
        for item in items {
            let wanted = items.iter().filter(|it| *it == item).count();
            let there = held.iter().filter(|it| it["item_id"] == *item).count();
            check(wanted <= there, "item not found in the order")?;
        }
        Ok(())
    }

    /// Checks a change of items; returns the price difference, and the pairs.
    fn swap(&self, order: &Json, given: &Json) -> Result<(f64, Vec<(String, String)>), String> {
        let (old, new) = (list(given, "item_ids")?, list(given, "new_item_ids")?);
        Self::has_items(order, &old)?;
        check(old.len() == new.len(), "the number of items differs")?;
        let held = order["items"].as_array().cloned().unwrap_or_default();
        let mut difference = 0.0;
        for (old, new) in old.iter().zip(&new) {
            let item = held.iter().find(|it| it["item_id"] == *old);
            let item = item.ok_or("item not found in the order")?;
            let variant = self
                .variant(new)
                .filter(|(product, _)| item["product_id"] == *product);
            let (_, variant) = variant.ok_or("the new item is not a variant of the product")?;
            check(
                variant["available"] == true,
                "the new item is not available",
            )?;
            difference += amount(&variant["price"]) - amount(&item["price"]);
        }
        let difference = cents(difference);
        let method = self.method(order, text(given, "payment_method_id")?)?;
        let is_card = method["source"] == "gift_card";
        let covers = amount(&method["balance"]) >= difference;
        check(!is_card || covers, "insufficient gift card balance")?;
        Ok((difference, old.into_iter().zip(new).collect()))
    }

    fn change_items(&mut self, given: &Json) -> ShopAnswer {
        let mut order = self.pending(given, true)?;
        let (difference, pairs) = self.swap(&order, given)?;
        let method = text(given, "payment_method_id")?;
        self.refund(&order, method, -difference)?;
        for (old, new) in pairs {
            let Some((_, variant)) = self.variant(&new) else {
                continue;
            };
            let variant = variant.clone();
            let items = order["items"].as_array_mut().into_iter().flatten();
            for item in items.filter(|it| it["item_id"] == old).take(1) {
                for key in ["item_id", "price", "options"] {
                    item[key] = variant[key].clone();
                }
            }
        }
        let kind = if difference > 0.0 {
            "payment"
        } else {
            "refund"
        };
        if let Some(history) = order["payment_history"].as_array_mut() {
            history.push(json!({
                "transaction_type": kind, "amount": difference.abs(), "payment_method_id": method,
            }));
        }
        order["status"] = json!("pending (item modified)");
        self.keep_order(order)
    }

    fn take_back(&mut self, given: &Json) -> ShopAnswer {
        let mut order = self.delivered(given)?;
        let id = text(given, "payment_method_id")?;
        let method = self.method(&order, id)?;
        let is_original = order["payment_history"][0]["payment_method_id"] == id;
        let is_card = method["source"] == "gift_card";
        check(
            is_original || is_card,
            "payment method should be the original or a gift card",
        )?;
        let items = list(given, "item_ids")?;
        Self::has_items(&order, &items)?;
        order["status"] = json!("return requested");
        order["return_items"] = json!(items);
        order["return_payment_method_id"] = json!(id);
        self.keep_order(order)
    }

    fn exchange(&mut self, given: &Json) -> ShopAnswer {
        let mut order = self.delivered(given)?;
        let (difference, _) = self.swap(&order, given)?;
        order["status"] = json!("exchange requested");
        order["exchange_items"] = given["item_ids"].clone();
        order["exchange_new_items"] = given["new_item_ids"].clone();
        order["exchange_payment_method_id"] = given["payment_method_id"].clone();
        order["exchange_price_difference"] = json!(difference);
        self.keep_order(order)
    }
}
