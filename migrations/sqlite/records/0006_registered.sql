-- What an approved sale says was on its card. It can be cancelled, and follow its customer into another department; it
-- cannot become another sale.
CREATE TRIGGER sales_of_an_approval_stay_as_approved
BEFORE UPDATE OF code_sales, code_customer, sales_date, products, price, registered_by, origin, proposal_id, digest ON sales
WHEN OLD.origin = 'approval'
     AND (OLD.code_sales, OLD.code_customer, OLD.sales_date, OLD.products, OLD.price, OLD.registered_by, OLD.origin,
          OLD.proposal_id, OLD.digest)
         IS NOT (NEW.code_sales, NEW.code_customer, NEW.sales_date, NEW.products, NEW.price, NEW.registered_by, NEW.origin,
                 NEW.proposal_id, NEW.digest)
BEGIN
    SELECT RAISE(ABORT, 'a registered sale is cancelled, never changed');
END;
